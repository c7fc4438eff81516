import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findPython } from '../src/find-python.ts'

/** Makes programs that answer as interpreters of these versions, by their paths. */
async function setUp(versions: Readonly<Record<string, string>>) {
  const dir = await mkdtemp(join(tmpdir(), 'holt-pythons-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  for (const [path, version] of Object.entries(versions)) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), `#!/bin/sh\necho '${version} of ${path}'\n`, { mode: 0o755 })
  }
  return (minor: number) => findPython(minor, { PATH: join(dir, 'bin'), PYENV_ROOT: join(dir, 'pyenv') })
}

test.each([
  ['the usual one, if it is new enough', { 'bin/python3': '3 13' }, 'of bin/python3'],
  ['one with its version in its name', { 'bin/python3': '3 11', 'bin/python3.14': '3 14' }, 'of bin/python3.14'],
  [
    'a version of pyenv',
    { 'bin/python3': '3 11', 'pyenv/versions/2.7/bin/python': '2 18', 'pyenv/versions/3.12.1/bin/python': '3 12' },
    'of pyenv/versions/3.12.1/bin/python',
  ],
])('finds %s', async (_, versions, found) => {
  const find = await setUp(versions)
  expect(await find(12)).toBe(found)
})

test('finds none where all are too old, or answer nothing', async () => {
  const find = await setUp({ 'bin/python3': '3 11', 'bin/python3.12': '', 'pyenv/versions/2.7/bin/python': '2 18' })
  expect(await find(12)).toBeNull()
})
