import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const scripts = fileURLToPath(new URL('../../../scripts', import.meta.url))

test.each([
  ['release.ts', (dir: string) => ['--out', dir]],
  ['build-sdk.ts', (dir: string) => [dir]],
])('%s empties no directory that it did not create', async (script, argumentsFor) => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-foreign-'))
  try {
    await writeFile(join(dir, 'mine'), 'mine')
    const made = promisify(execFile)(process.execPath, [join(scripts, script), ...argumentsFor(dir)])
    await expect(made).rejects.toMatchObject({ stderr: expect.stringContaining('is not empty: it has mine') })
    expect(await readdir(dir)).toEqual(['mine'])
  } finally {
    await rm(dir, { recursive: true })
  }
})
