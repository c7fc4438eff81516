import { expect, test } from 'vitest'
import { type Check, lineOf, mustFix } from '../../../src/daemon/doctor/check.ts'
import { checkGuest } from '../../../src/daemon/doctor/check-guest.ts'
import {
  checkArch,
  checkCgroups,
  checkClock,
  checkFeatures,
  checkKernel,
} from '../../../src/daemon/doctor/kernel-checks.ts'
import { checkLeftovers } from '../../../src/daemon/doctor/leftover-checks.ts'
import { checkNode, checkRoot } from '../../../src/daemon/doctor/machine-checks.ts'
import { checkOfFailure } from '../../../src/daemon/doctor/postgres-failure.ts'
import { checkQuotas } from '../../../src/daemon/doctor/quota-checks.ts'
import { checkDisk } from '../../../src/daemon/doctor/state-checks.ts'
import { checkTimeSource } from '../../../src/daemon/doctor/time-source.ts'

/**
 * The first words of commands: programs of a Debian machine and of Holt, and builtins of the shell.
 */
const programs = new Set(
  (
    'apt-get cd chmod chown cp echo export find go holt losetup mkdir modprobe mount npm reboot runuser sudo sysctl systemctl ' +
    'timedatectl ulimit unset update-grub'
  ).split(' '),
)

const noCgroups = { controllers: new Map(), readOnly: ['/cg'], undelegated: ['memory'] }
const lowLimits = { openFiles: 1024, threads: 4096, mapsPerProcess: 1000, inotifyInstances: 8 }

/** A machine that has nothing of what is needed. */
const bareMachine = {
  arch: 'riscv64',
  kernelRelease: '4.19.0',
  memoryMiB: 512,
  filesystems: new Set<string>(),
  cgroups: noCgroups,
  hasLoopDevices: false,
  hasTun: false,
  corePattern: '|/usr/lib/crash-handler %p',
  seccompActions: '',
  limits: lowLimits,
  time: { now: 0, bootedAt: 0, countedBootAt: 0 },
}

const fullDisk = {
  sizeMiB: 10,
  freeMiB: 1,
  inodes: 100,
  freeInodes: 0,
  filesystem: 0x0102_1994,
  mount: { point: '/', options: ['ro', 'noexec'] },
}
const quotas = { projectQuotas: { cpu: 64 }, reserve: { memoryMiB: 512, diskMiB: 512 } } as Parameters<
  typeof checkQuotas
>[0]
const here = 'postgres://holt:canary@localhost/holt'

/** All that can be wrong, as its check says it. */
const bad: readonly (readonly [string, () => Check | readonly Check[] | Promise<Check | readonly Check[]>])[] = [
  ['a bare machine', () => checkKernel(bareMachine)],
  ['another processor', () => checkArch('riscv64')],
  ['no features', () => checkFeatures(bareMachine)],
  ['no cgroups', () => checkCgroups(noCgroups)],
  ['a clock', () => checkClock({ now: 0, bootedAt: 0, countedBootAt: 0 })],
  ['no time source', () => checkTimeSource(async () => 'no')],
  ['an old Node', () => checkNode('18.0.0')],
  ['no root', () => checkRoot(1000)],
  ['no guest', () => checkGuest({ guest: '/nowhere/holt-guest' }, 'x64')],
  ['a full disk', () => checkDisk('/state', fullDisk)],
  ['large quotas', () => checkQuotas(quotas, { memoryMiB: 4096, cpus: 2, diskMiB: 50_000 })],
  ['a reserve of all', () => checkQuotas(quotas, { memoryMiB: 256, cpus: 2, diskMiB: 50_000 })],
  ['leftovers', () => checkLeftovers({ emptyCgroups: ['/cg/holt-a'], deadLoops: ['/dev/loop3'] })],
  ['no PostgreSQL', () => checkOfFailure({ code: 'ECONNREFUSED', message: 'refused' }, here)],
  ['no database', () => checkOfFailure({ code: '3D000', message: 'there is none' }, here)],
]

test.each(bad)('a fix is a command: %s', async (_, check) => {
  const checks = [await check()].flat()
  expect(checks.every(({ status }) => status === 'ok')).toBe(false)
  for (const { fix } of checks.filter(({ fix }) => fix !== null))
    for (const part of (fix ?? '').split(' && ')) {
      const words = part.split(' ').filter((word) => !/^[A-Z_]+=/.test(word)) // Variables may stand before a program.
      expect(programs, fix ?? '').toContain(words[0])
    }
})

test('a failure without a command has a sentence', () => {
  const check = checkArch('riscv64')
  expect(check).toMatchObject({ status: 'fix', fix: null, message: expect.stringContaining('use an x86-64') })
  expect(lineOf(check)).toBe('FIX: # architecture: there is no runsc for riscv64: use an x86-64 or arm64 machine')
  expect(lineOf(mustFix('disk', 'full', null))).toBe('FIX: # disk: full')
  expect(checkKernel(bareMachine).find(({ name }) => name === 'memory')).toMatchObject({ status: 'fix', fix: null })
})
