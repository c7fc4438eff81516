import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeClasses, type IsolationClass } from './support/classes.ts'
import { service } from './support/facts.ts'
import { canary } from './support/service-process.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const program = readFileSync(new URL('probe/probe.py', import.meta.url), 'utf8')

/** The findings of the probe. */
interface Findings {
  readonly checks: Readonly<Record<string, string>>
  readonly lists: Readonly<Record<string, readonly string[]>>
}

/** Refusals. The test names every other answer, an unusual error included. */
const refusals = [
  'absent',
  'EPERM',
  'EACCES',
  'ENOSYS',
  'EROFS',
  'ENXIO',
  'ENODEV',
  'ENETUNREACH',
  'EAFNOSUPPORT',
  'ESRCH',
  'EOPNOTSUPP',
  'unresolved',
  'EHOSTUNREACH',
  'ENOTSUP',
  'EIO',
]

/** The network, as far as code that means harm would look for it. */
const targets = [
  ['169.254.169.254', 80],
  ['fd00:ec2::254', 80],
  ['1.1.1.1', 443],
  ['2606:4700:4700::1111', 443],
  ['10.0.0.1', 80],
  ['172.17.0.1', 80],
  ['192.168.0.1', 80],
  ['100.64.0.1', 80],
  ...Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? [])
      .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
      .map(({ address }): [string, number] => [address, service.port]),
  ),
] satisfies [string, number][]

/**
 * The service listens on loopback: the host's, not the runtime's. Nothing listens on the runtime's
 * own.
 */
const loopbackTargets = [
  ['127.0.0.1', service.port],
  ['::1', service.port],
] satisfies [string, number][]

const marker = 'marker-of-another-runtime-93a1'

/** Listens wherever a runtime can, and leaves files in places that are shared on one machine. */
const neighbour = `
import socket, sys, time
abstract = socket.socket(socket.AF_UNIX); abstract.bind('\\0' + sys.argv[1]); abstract.listen()
tcp = socket.socket(); tcp.bind(('0.0.0.0', 7777)); tcp.listen()
for folder in ('/tmp', '/dev/shm'): open(f'{folder}/{sys.argv[1]}', 'w').close()
time.sleep(3600)`

const ofGvisor = ['clone3', 'device /dev/fuse', 'device /dev/net/tun', 'keyctl', 'read kernel log', 'unshare user']

const ofGvisorRoot = [
  'connect to the control socket',
  'descriptors of init',
  'fsopen',
  'make and open a tun',
  'mount proc',
  'mount sysfs',
  'mount tmpfs',
  'open_tree',
  'ptrace init',
  'read environment of init',
  'remount sys writable',
  'root of init',
  'setns pid 1',
  'unshare mount',
  'unshare net',
  'unshare pid',
  'write /proc/sys/net/ipv4/ip_forward',
  'write /proc/sysrq-trigger',
]

const ofContainerRoot = [
  'connect to the control socket',
  'descriptors of init',
  'ptrace init',
  'read environment of init',
  'root of init',
]

/** The accesses that are allowed, by class and user, with the reason. */
const openTo: Readonly<Record<IsolationClass, Readonly<Record<'root' | 'user', readonly string[]>>>> = {
  // gVisor's own kernel answers all of these: what happens, happens to that kernel, which is the
  // tenant's alone. The tun device and the FUSE device are gVisor's own too, and so is the kernel
  // log. Root may replace the guest, so it reaches the guest's socket; the service does not trust
  // what it says there.
  gvisor: {
    root: [...ofGvisor, ...ofGvisorRoot],
    user: ofGvisor,
  },
  // Root of a container is the guest's equal, so it sees the guest and its socket.
  container: { root: ofContainerRoot, user: [] },
}

describeClasses('from inside', (isolation) => {
  let runtime: TestRuntime
  let other: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation, env: { OF_THE_CREATE: '1' } })
    other = await createRuntime({ isolation })
    const answer = await other.call('POST', '/commands', {
      json: { argv: ['python', '-c', neighbour, marker], background: true },
    })
    expect(answer.status, answer.text).toBe(201)
    await until('the neighbour listens', async () => (await other.run(`test -e /dev/shm/${marker}`)).exit_code === 0)
  })
  afterAll(async () => {
    await other.delete()
  })

  describe.each(['root', 'user'] as const)('as %s', (user) => {
    let found: Findings
    beforeAll(async () => {
      const others = [marker, other.id, canary]
      const request = JSON.stringify({ targets: [...targets, ...loopbackTargets, ['127.0.0.1', 7777]], others })
      found = await runtime.python<Findings>(program, [request], { user, timeout_secs: 100 })
    })

    it('only the system interfaces in this test are accessible', () => {
      const open = Object.entries(found.checks).filter(([name, outcome]) => !refused(name, outcome))
      expect(Object.fromEntries(open)).toEqual(
        Object.fromEntries(openTo[isolation][user].map((name) => [name, 'open'])),
      )
    })

    it('no socket but that of the guest', () => {
      expect(found.lists.sockets).toEqual(user === 'root' ? ['/run/holt/control.sock'] : [])
    })

    it('only harmless devices', () => {
      expect(found.lists.devices?.filter((path) => !path.startsWith('/dev/pts/')).sort()).toEqual(devices[isolation])
    })

    it('nothing of another runtime or of the host', () => {
      expect(found.lists.carriers).toEqual([])
    })

    it('no network but loopback', () => {
      expect(found.lists.interfaces).toEqual(['lo'])
      expect(found.lists.routes?.filter((name) => name !== 'lo')).toEqual([])
    })

    it('only the mounts of a runtime', () => {
      const points = found.lists.mounts?.map((line) => line.split(' ')[0] ?? '')
      // Below /proc and /sys lie the masks that hide the host's kernel; that they are read-only is
      // told by the next test.
      expect(points?.filter((point) => !/^\/(?:proc|sys)\/./.test(point))).toEqual(mountPoints[isolation])
    })

    it('writable paths are only on its own disk and memory', () => {
      expect(found.lists['writable mounts']?.filter((point) => !writableMounts.includes(point))).toEqual([])
    })

    it('only the given environment', () => {
      const inherited = ['HOME', 'LANG', 'LOGNAME', 'OF_THE_CREATE', 'PATH', 'SHELL', 'USER', 'VIRTUAL_ENV']
      expect(found.lists.environment?.filter((name) => !inherited.includes(name) && !name.startsWith('LC_'))).toEqual(
        [],
      )
    })

    it('the capabilities are those of the class', () => {
      const [effective, bounding] = found.lists.capabilities ?? []
      expect(effective === undefined ? null : namesOf(effective)).toEqual(
        user === 'root' ? capabilities[isolation] : [],
      )
      expect(bounding === undefined ? null : namesOf(bounding)).toEqual(capabilities[isolation])
    })

    // Under gVisor no call of the runtime reaches the host's kernel, so there is nothing to filter.
    if (isolation === 'container') {
      it('no way to gain privileges, and a system call filter', () => {
        expect(found.lists['no new privileges']).toEqual(['1'])
        expect(found.lists.seccomp).toEqual(['2'])
      })
    }
  })

  it('files of another runtime are absent', async () => {
    await other.sh(`touch /workspace/${marker} /var/tmp/${marker}`)
    expect(await runtime.sh(`find / -xdev -name '*${marker}*' 2>/dev/null; ls /dev/shm`)).toBe('')
  })

  it('a runtime with a name resolves its host name', async () => {
    await using named = await createRuntime({ isolation, name: `named-in-${isolation}` })
    const look = 'for name in "$(uname -n)" "$(cat /etc/hostname)"; do getent -s hosts:files hosts "$name"; done'
    const addresses = (await named.sh(look)).trim().split('\n')
    expect(addresses.map((line) => line.split(' ')[0])).toEqual(['127.0.1.1', '127.0.1.1'])
  })

  it('each runtime has its own name and machine-id', async () => {
    const read = (which: TestRuntime) =>
      which.sh('hostname; cat /etc/machine-id; head -c 16 /dev/urandom | od -An -tx8')
    const [one = [], two = []] = (await Promise.all([read(runtime), read(other)])).map((text) => text.split('\n'))
    expect(one).toHaveLength(3)
    expect(one[0]).toBe(runtime.id)
    expect(one[1]).toMatch(/^[0-9a-f]{32}$/)
    for (const index of [0, 1, 2]) expect(one[index]).not.toBe(two[index])
  })
})

const plainDevices = ['/dev/full', '/dev/null', '/dev/random', '/dev/tty', '/dev/urandom', '/dev/zero']

const devices: Readonly<Record<IsolationClass, readonly string[]>> = {
  gvisor: [...plainDevices, '/dev/fuse', '/dev/net/tun'].sort(),
  container: plainDevices,
}

const mountPoints: Readonly<Record<IsolationClass, readonly string[]>> = {
  gvisor: ['/', '/dev', '/dev/pts', '/dev/shm', '/proc', '/run/holt', '/run/holt-guest', '/sys'],
  // In a user namespace no device can be made: nodes of the runtime's own are mounted.
  container: [
    '/',
    '/dev',
    '/dev/mqueue',
    '/dev/pts',
    '/dev/shm',
    '/proc',
    '/run/holt',
    '/run/holt-guest',
    '/sys',
    ...plainDevices,
  ].sort(),
}

/**
 * Mounts that are writable. With cgroup v1, `/sys/fs/cgroup` is the runtime's own empty tmpfs,
 * covered by a read-only mount of itself.
 */
const writableMounts = ['/', '/dev', '/dev/mqueue', '/dev/pts', '/dev/shm', '/proc', '/sys/fs/cgroup', ...plainDevices]

/** Numbers of capabilities(7). */
const capabilities: Readonly<Record<IsolationClass, readonly number[]>> = {
  // CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID NET_BIND_SERVICE SYS_CHROOT SETFCAP
  container: [0, 1, 3, 4, 5, 6, 7, 10, 18, 31],
  // Held against gVisor's own kernel only.
  gvisor: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 18, 19, 21, 23, 24, 25, 26, 27, 28, 29, 31],
}

function namesOf(mask: string): number[] {
  const bits = BigInt(`0x${mask}`)
  return Array.from({ length: 64 }, (_, bit) => bit).filter((bit) => (bits >> BigInt(bit)) & 1n)
}

function refused(name: string, outcome: string): boolean {
  // On loopback nobody listens: that is a refusal of the runtime's own kernel. Elsewhere the
  // connection would have been made.
  if (name.startsWith('connect to 127.') || name.startsWith('connect to ::1 ')) return outcome === 'ECONNREFUSED'
  return refusals.includes(outcome)
}
