import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeId } from '@holt/protocol'
import { expect, test } from 'vitest'
import { installGuest, removeOldGuests } from '../../src/host/install-guest.ts'
import { parseRunscDate } from '../../src/host/probe-runners.ts'
import { claimInstallation } from '../../src/installation/claim-installation.ts'
import { layoutOf } from '../../src/installation/layout.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

test.each(['stateDir', 'runDir', 'installationId'] as const)('gives a %s to one engine at a time', async (shared) => {
  await using one = await temporaryDirectory()
  await using other = await temporaryDirectory()
  const installation = async (dir: string) => {
    const own = { stateDir: join(dir, 'state'), runDir: join(dir, 'run'), installationId: makeId('runtime') }
    for (const made of [own.stateDir, own.runDir]) await mkdir(made)
    return own
  }
  const first = await installation(one.path)
  const second = await installation(other.path)
  const claim = await claimInstallation(first)
  await expect(claimInstallation({ ...second, [shared]: first[shared] })).rejects.toMatchObject({ kind: 'conflict' })
  // The refused claim has released its parts.
  await (await claimInstallation(second)).release()
  await claim.release()
  await (await claimInstallation({ ...second, [shared]: first[shared] })).release()
})

test.each([
  ['release-20260706.0', 20260706],
  ['20260701.69c2d17aea96', 20260701],
  ['release-20260105.0-12-g0123456789ab', 20260105],
  ['unspecified', null],
  ['VERSION_MISSING', null],
])('reads the date of runsc %s', (version, date) => {
  expect(parseRunscDate(version)).toBe(date)
})

test('keeps a guest under its digest while it is in use', async () => {
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
