import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { claimStateDir } from '../../src/host/claim-state-dir.ts'
import { installGuest, removeOldGuests } from '../../src/host/install-guest.ts'
import { parseRunscDate } from '../../src/host/probe-runners.ts'
import { layoutOf } from '../../src/layout.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

test('gives a state directory to one engine at a time', async () => {
  await using dir = await temporaryDirectory()
  const claim = await claimStateDir(dir.path)
  await expect(claimStateDir(dir.path)).rejects.toMatchObject({ kind: 'conflict' })
  await claim.release()
  await (await claimStateDir(dir.path)).release()
})

test.each([
  ['release-20240729.0', 20240729],
  ['0.0~20240729.0', 20240729],
  ['release-20260105.0-12-g0123456789ab', 20260105],
  ['unspecified', null],
  ['VERSION_MISSING', null],
])('reads the date of runsc %s', (version, date) => {
  expect(parseRunscDate(version)).toBe(date)
})

test('keeps a guest under its digest while somebody uses it', async () => {
  await using dir = await temporaryDirectory()
  const layout = layoutOf(dir.path, '/run/x')
  const source = join(dir.path, 'guest')
  await writeFile(source, 'one')
  const one = await installGuest(layout, source)
  expect(await installGuest(layout, source)).toEqual(one)
  await writeFile(source, 'two')
  const two = await installGuest(layout, source)
  expect(two.path).not.toBe(one.path)
  await removeOldGuests(layout, new Set([two.sha256]))
  expect(await readdir(layout.guests)).toEqual([two.sha256])
})
