import { chmod, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeId } from '@holt/protocol'
import { expect, test } from 'vitest'
import { findUserLack } from '../../src/host/describe-host.ts'
import { createHostEngine } from '../../src/index.ts'
import { smallSpec, timeout } from '../support/engine-under-test.ts'
import { countDescriptors } from '../support/leak-check.ts'
import { missing, temporaryDirectory } from '../support/test-machine.ts'

const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const noRoot = await missing('root')

async function open(dir: string, runners: { runscPath: string; runcPath: string }) {
  const guestBinary = join(dir, 'guest')
  await writeFile(guestBinary, 'a guest that nobody starts')
  const installationId = `test-${makeId('runtime').slice(0, 10)}`
  return createHostEngine({
    stateDir: join(dir, 'state'),
    runDir: join(dir, 'run'),
    installationId,
    guestBinary,
    log,
    ...runners,
  })
}

test.skipIf(noRoot !== null)(
  `says why a class is not available and what to do, and leaves nothing (${noRoot ?? 'ready'})`,
  async () => {
    await using dir = await temporaryDirectory()
    const old = join(dir.path, 'runsc')
    await writeFile(old, '#!/bin/sh\necho runsc version release-20200101.0\n')
    await chmod(old, 0o755)
    const engine = await open(dir.path, { runscPath: old, runcPath: '/no/such/runc' })
    const { isolation } = await engine.describe()
    expect(isolation.gvisor).toMatchObject({ available: false, reason: expect.stringContaining('older than 20260701') })
    expect(isolation.container).toMatchObject({ available: false, fix: 'apt-get install runc' })
    const spec = smallSpec('container', `sha256:${'0'.repeat(64)}`)
    await expect(engine.ensure(spec, timeout())).rejects.toMatchObject({ kind: 'not_supported' })
    expect(await engine.inspect(spec.id)).toBeNull()
    await engine.close()
  },
)

test.skipIf(noRoot !== null)(
  `asks runsc for its version once for each program file (${noRoot ?? 'ready'})`,
  { timeout: 120_000 },
  async () => {
    await using dir = await temporaryDirectory()
    const runsc = join(dir.path, 'runsc')
    const asked = join(dir.path, 'asked')
    const install = async (date: string) => {
      await writeFile(
        `${runsc}.new`,
        `#!/bin/sh\n[ "$1" = --version ] || exit 1\necho . >>${asked}\necho runsc version release-${date}.0\n`,
      )
      await chmod(`${runsc}.new`, 0o755)
      await rename(`${runsc}.new`, runsc)
    }
    await install('20270101')
    const engine = await open(dir.path, { runscPath: runsc, runcPath: '/no/such/runc' })
    const version = async () => JSON.stringify((await engine.describe()).isolation.gvisor)
    expect(await version()).toContain('release-20270101.0')
    await install('20270201')
    await expect.poll(version, { timeout: 90_000 }).toContain('release-20270201.0')
    expect(await readFile(asked, 'utf8')).toBe('.\n.\n')
    await engine.close()
  },
)

test.skipIf(noRoot !== null)(`closes every descriptor (${noRoot ?? 'ready'})`, async () => {
  await using dir = await temporaryDirectory()
  const before = await countDescriptors()
  const engine = await open(dir.path, { runscPath: '/no/such/runsc', runcPath: '/no/such/runc' })
  await engine.describe()
  await engine.close()
  // Descriptors of an earlier test may have been among those before.
  const added = async () => [...(await countDescriptors())].filter(([kind, count]) => count > (before.get(kind) ?? 0))
  await expect.poll(added).toEqual([])
})

test.each([
  ['5.15.0-91-generic', 65_536, /5\.19 or later/],
  ['4.19.0', 65_536, /5\.19 or later/],
  ['5.19.0', 0, /does not allow user namespaces/],
  ['5.19.0', 65_536, null],
  ['6.1.0-28-amd64', 1, null],
])('says if Linux %s with %i user namespaces gives containers separate users', (release, namespacesMax, lack) => {
  const found = findUserLack({ release, namespacesMax })
  if (lack === null) expect(found).toBeNull()
  else {
    expect(found?.reason).toMatch(lack)
    expect(found?.fix).not.toBeNull()
  }
})
