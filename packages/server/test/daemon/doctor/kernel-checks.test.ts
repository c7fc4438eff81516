import { expect, test } from 'vitest'
import type { CgroupFacts, LimitFacts } from '../../../src/daemon/doctor/facts.ts'
import { readMachineFacts } from '../../../src/daemon/doctor/facts.ts'
import {
  checkArch,
  checkCgroups,
  checkClock,
  checkCores,
  checkFeatures,
  checkKernel,
  checkLimits,
  checkRelease,
} from '../../../src/daemon/doctor/kernel-checks.ts'
import { checkTimeSource } from '../../../src/daemon/doctor/time-source.ts'

const fine: CgroupFacts = {
  controllers: new Map(['cpu', 'cpuacct', 'memory', 'pids', 'freezer'].map((name) => [name, '/cg'])),
  readOnly: [],
  undelegated: [],
}
const limits: LimitFacts = { openFiles: 1_048_576, threads: 100_000, mapsPerProcess: 65_530, inotifyInstances: 128 }

/** The failed results of a check: names and states. */
const bad = (checks: readonly { name: string; status: string }[]) =>
  checks.filter(({ status }) => status !== 'ok').map(({ name, status }) => [name, status])

test.each([
  ['6.1.0-13-amd64', 'ok'],
  ['5.15.0', 'ok'],
  ['5.10.0-rc1', 'warn'],
  ['5.4.0', 'warn'],
  ['4.19.0', 'fix'],
])('the kernel %s is %s', (release, status) => {
  expect(checkRelease(release).status).toBe(status)
})

test('a processor without a runsc is a failure', () => {
  expect([checkArch('x64').status, checkArch('arm64').status, checkArch('riscv64').status]).toEqual(['ok', 'ok', 'fix'])
})

test('each missing kernel feature is named, and one that a class can do without is a warning', () => {
  const all = {
    filesystems: new Set(['ext4', 'erofs', 'overlay']),
    hasLoopDevices: true,
    hasTun: true,
    seccompActions: 'kill errno',
  }
  expect(bad(checkFeatures(all))).toEqual([])
  const none = { filesystems: new Set<string>(), hasLoopDevices: false, hasTun: false, seccompActions: '' }
  expect(bad(checkFeatures(none))).toEqual([
    ['ext4', 'fix'],
    ['erofs', 'warn'],
    ['overlay', 'warn'],
    ['loop', 'fix'],
    ['tun', 'warn'],
    ['seccomp', 'warn'],
  ])
  expect(checkFeatures(none)[1]?.fix).toBe('modprobe erofs')
})

test.each([
  ['core', 'ok', null],
  ['/var/crash/%e.%p', 'ok', null],
  ['', 'ok', null],
  ['|/usr/share/apport/apport -p%p -s%s', 'warn', '/usr/share/apport/apport'],
  ['| /usr/lib/systemd/systemd-coredump %P', 'warn', '/usr/lib/systemd/systemd-coredump'],
])('the core dump pattern %j is %s', (pattern, status, program) => {
  const check = checkCores(pattern)
  expect([check.status, check.message.startsWith(`${program} receives`)]).toEqual([status, program !== null])
  expect(check.fix).toBe(program === null ? null : 'sysctl -w kernel.core_pattern=core')
})

test('limits need their cgroup controllers and a writable cgroup', () => {
  expect(checkCgroups(fine)).toEqual([expect.objectContaining({ name: 'cgroups', status: 'ok' })])
  const without = (...names: string[]) => new Map([...fine.controllers].filter(([name]) => !names.includes(name)))
  expect(bad(checkCgroups({ ...fine, controllers: without('memory') }))).toEqual([['cgroup memory', 'fix']])
  expect(bad(checkCgroups({ ...fine, controllers: without('freezer', 'cpuacct') }))).toEqual([
    ['cgroup freezer', 'warn'],
    ['cgroup cpuacct', 'warn'],
  ])
  expect(checkCgroups({ ...fine, readOnly: ['/cg'] })).toEqual([
    expect.objectContaining({ status: 'fix', fix: 'mount -o remount,rw /cg' }),
  ])
  expect(checkCgroups({ ...fine, undelegated: ['memory', 'pids'] })).toEqual([
    expect.objectContaining({ status: 'warn', fix: "echo '+memory +pids' > /cg/cgroup.subtree_control" }),
  ])
})

test('low limits are reported with the setting that raises them', () => {
  expect(bad(checkLimits(limits))).toEqual([])
  const low = { openFiles: 1024, threads: 4096, mapsPerProcess: 1000, inotifyInstances: 8 }
  expect(bad(checkLimits(low))).toEqual([
    ['open files', 'fix'],
    ['threads', 'warn'],
    ['memory maps', 'warn'],
    ['inotify', 'warn'],
  ])
  expect(bad(checkLimits({ ...limits, openFiles: 8192 }))).toEqual([['open files', 'warn']])
  expect(checkLimits(low)[0]?.fix).toMatch(/^ulimit -Hn 65536 .*LimitNOFILE=65536/)
  expect(checkLimits(low).at(-1)?.fix).toBe('sysctl -w fs.inotify.max_user_instances=128')
})

test('the clock must have a plausible time and run evenly', () => {
  const now = Date.parse('2027-03-01T12:00:00Z')
  const bootedAt = now - 3_600_000
  const status = (time: Partial<Parameters<typeof checkClock>[0]>) =>
    checkClock({ now, bootedAt, countedBootAt: bootedAt, ...time }).status
  expect(status({})).toBe('ok')
  expect(status({ now: 0 })).toBe('fix')
  expect(status({ bootedAt: now + 3_600_000 })).toBe('fix')
  expect(status({ countedBootAt: bootedAt + 600_000 })).toBe('warn')
})

test.each([
  ['yes\n', ['ok']],
  ['no\n', ['warn']],
  ['', []],
])('the service manager reports %j for the time source', async (answer, expected) => {
  expect((await checkTimeSource(async () => answer)).map(({ status }) => status)).toEqual(expected)
})

test('a machine without a service manager has no report on its time source', async () => {
  expect(await checkTimeSource(() => Promise.reject(new Error('not found')))).toEqual([])
})

test('the checks run on this machine, and each has its own name', async () => {
  const facts = await readMachineFacts()
  expect(facts.memoryMiB).toBeGreaterThan(0)
  expect(facts.filesystems.size).toBeGreaterThan(0)
  expect(facts.limits.threads).toBeGreaterThan(0)
  expect(Math.abs(facts.time.now - Date.now())).toBeLessThan(60_000)
  const names = checkKernel(facts).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})
