import { chmod, readFile, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { builtGuest } from '@holt/testkit'
import { expect, test } from 'vitest'
import { explainFinding, probeContainers } from '../../src/host/probe-containers.ts'
import { missing, temporaryDirectory } from '../support/test-machine.ts'

const { EPERM, EACCES, ENOSPC, ENOSYS } = constants.errno
const reason = await missing('root', 'go')

/** Returns a guest that runs the real one as `script` says; `$GUEST` is the real one. */
async function guestIn(dir: string, script: string): Promise<string> {
  const path = join(dir, 'guest')
  await writeFile(path, `#!/bin/sh\nGUEST=${await builtGuest()}\n${script}\n`)
  await chmod(path, 0o755)
  return path
}

test.skipIf(reason !== null)(
  `a host that starts containers passes, and keeps no mount of the probe (${reason ?? 'ready'})`,
  { timeout: 60_000 },
  async () => {
    await using dir = await temporaryDirectory()
    const before = await mounts()
    expect(await probeContainers({ guest: await builtGuest(), stateDir: dir.path, rootPlace: '/mnt' })).toBeNull()
    expect(await mounts()).toEqual(before)
  },
)

test.skipIf(reason !== null).each([
  ['covers parts of /proc', 'mount -t tmpfs none /proc/sys && exec "$GUEST" "$@"', /parts of \/proc are covered.*LXC/],
  ['is a chroot', 'd=$(mktemp -d -p "$3") && mount --rbind / "$d" && exec chroot "$d" "$GUEST" "$@"', /user namespace/],
])('says why a host that %s starts no containers', { timeout: 60_000 }, async (_, script, words) => {
  await using dir = await temporaryDirectory()
  const inside = join(dir.path, 'inside')
  await writeFile(inside, `GUEST=${await builtGuest()}\n${script}\n`)
  const guest = await guestIn(dir.path, `exec unshare -m sh ${inside} "$@"`)
  const lack = await probeContainers({ guest, stateDir: dir.path, rootPlace: '/mnt' })
  expect(lack?.reason).toMatch(words)
})

const nothing = { isChroot: false, restrictsUsers: false }

test.each([
  ['users', EPERM, { ...nothing, isChroot: true }, /chroot.*outside/, null],
  ['users', EACCES, { ...nothing, restrictsUsers: true }, /AppArmor/, /apparmor_restrict_unprivileged_userns=0$/],
  ['users', ENOSPC, nothing, /limit of user namespaces/, /max_user_namespaces/],
  ['users', EPERM, nothing, /trial start.*the words.*security profile/, null],
  ['proc', EPERM, { ...nothing, isChroot: true }, /security\.nesting=true.*systempaths=unconfined/, null],
  ['idmap', ENOSYS, nothing, /trial start.*the words/, null],
  ['mounts', EPERM, { ...nothing, restrictsUsers: true }, /trial start.*the words/, null],
])('explains a failure of %s with errno %i', (step, errno, surroundings, words, fix) => {
  const lack = explainFinding({ step, errno, message: 'the words' }, surroundings)
  expect(lack.reason).toMatch(words)
  if (fix === null) expect(lack.fix).toBeNull()
  else expect(lack.fix).toMatch(fix)
})

/** Returns what is mounted on the probe's directories; other tests mount elsewhere. */
async function mounts(): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')
  // The fifth field is the mount point (proc_pid_mountinfo(5)). Other tests mount loop devices
  // meanwhile, elsewhere.
  return lines.filter((line) => /^\/(?:mnt|dev)(?:\/|$)/.test(line.split(' ')[4] ?? ''))
}
