import { chmod, lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { ServerConfig } from '../../src/config/config.ts'
import { exportTo } from '../../src/daemon/transfer.ts'
import { openStore } from '../../src/store/open-store.ts'

test('an export is a file of its own with mode 0600, whatever lies in the directory', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-export-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  await (await openStore({ type: 'sqlite', path: join(dir, 'holt.db') })).close()
  const [file, theirs] = [join(dir, 'dump.jsonl'), join(dir, 'theirs')]
  await writeFile(theirs, 'kept')
  await symlink(theirs, `${file}.part`)
  await writeFile(file, 'before')
  await chmod(file, 0o666)
  await exportTo({ stateDir: dir, databaseUrl: null } as ServerConfig, file)
  expect((await lstat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(theirs, 'utf8')).toBe('kept')
  expect((await readdir(dir)).filter((name) => name.startsWith('dump')).toSorted()).toEqual([
    'dump.jsonl',
    'dump.jsonl.part',
  ])
  await expect(exportTo({ stateDir: join(dir, 'none'), databaseUrl: null } as ServerConfig, file)).rejects.toThrow(
    'no store',
  )
  expect((await readdir(dir)).filter((name) => name.startsWith('dump'))).toHaveLength(2)
})
