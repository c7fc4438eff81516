import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../../../../engine-host/test/support/test-machine.ts'
import { requireIntegrity } from '../../../src/foundation/store/require-integrity.ts'
import { openSqliteStore } from '../../../src/foundation/store/sqlite-store.ts'

async function withStore(work: (path: string) => Promise<void>): Promise<void> {
  await using dir = await temporaryDirectory()
  const path = join(dir.path, 'holt.db')
  await openSqliteStore(path).close()
  await work(path)
}

describe('a database', () => {
  test('that is intact, empty or missing is opened', async () => {
    await withStore(async (path) => {
      requireIntegrity(path)
      requireIntegrity(`${path}-none`)
      await writeFile(`${path}-empty`, '')
      requireIntegrity(`${path}-empty`)
      await openSqliteStore(path).close()
    })
  })

  test.each([
    ['its head', 0],
    ['a page of it', 4096 * 3],
  ])('that is damaged in %s is refused unchanged, with the remedies', async (_, at) => {
    await withStore(async (path) => {
      const bytes = await readFile(path)
      bytes.fill(0xa5, at, at + 4096)
      await writeFile(path, bytes)
      expect(() => openSqliteStore(path)).toThrow(/is damaged: [\s\S]+holtd import FILE[\s\S]+\.recover/)
      expect((await readFile(path)).equals(bytes)).toBe(true)
    })
  })
})
