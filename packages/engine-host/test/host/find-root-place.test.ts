import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findRootPlace } from '../../src/host/find-root-place.ts'

test('accepts a directory without files that runsc needs', async () => {
  expect(await findRootPlace(['/tmp'])).toBe('/mnt')
  expect(await findRootPlace(['/tmp', '/mnt'])).not.toBe('/mnt')
})

test('refuses a directory with a link to a needed file', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-root-place-'))
  try {
    await symlink('/bin/sh', join(dir, 'runc'))
    expect(await findRootPlace([join(dir, 'runc')], [dir])).toBeNull()
    expect(await findRootPlace(['/bin/sh'], [dir])).toBe(dir)
  } finally {
    await rm(dir, { recursive: true })
  }
})

test('returns null if the host has no such directory', async () => {
  expect(await findRootPlace(['/tmp'], ['/nowhere/a', '/nowhere/b'])).toBeNull()
})
