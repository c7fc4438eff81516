import { expect, test } from 'vitest'
import { type BundleInput, openFilesOf } from '../../src/bundles/bundle-input.ts'
import { CONTAINER_CAPABILITIES, containerConfig } from '../../src/bundles/container-config.ts'
import { gvisorConfig } from '../../src/bundles/gvisor-config.ts'
import { cgroupResources } from '../../src/bundles/limits.ts'
import { layoutOf } from '../../src/installation/layout.ts'

const id = 'a'.repeat(22)
const spec = {
  id,
  isolation: 'gvisor',
  imageDigest: `sha256:${'0'.repeat(64)}`,
  cpu: 1.5,
  memoryMiB: 512,
  diskMiB: 1024,
  pidsMax: 100,
  checkpointId: null,
} as const
const input: BundleInput = {
  spec,
  paths: layoutOf('/state', '/run/h').runtime(id),
  image: '/state/images/x.erofs',
  guest: '/state/guests/y/holt-guest',
  upper: '/state/runtimes/z/disk/upper',
  cgroupsPath: `/holt-test/${id}`,
  limitsSwap: true,
  openFilesMax: 20_000,
  firstId: 0x7000_0000,
  rootPlace: '/mnt',
  masks: ['/proc/kcore'],
  arch: 'x64',
}

test.each([gvisorConfig(input), containerConfig(input)])(
  'gives a runtime only its guest and its socket from the host, read-only',
  (config) => {
    const binds = config.mounts.filter((mount) => mount.type === 'bind')
    expect(binds.map((mount) => mount.destination)).toEqual(['/run/holt', '/run/holt-guest'])
    for (const bind of binds) expect(bind.options).toContain('ro')
  },
)

test.each([gvisorConfig(input), containerConfig(input)])(
  'gives a runtime fresh /proc, /dev and /dev/shm and a read-only /sys',
  (config) => {
    const types = Object.fromEntries(config.mounts.map((mount) => [mount.destination, mount.type]))
    expect(types).toMatchObject({ '/proc': 'proc', '/dev': 'tmpfs', '/dev/shm': 'tmpfs', '/sys': 'sysfs' })
    expect(config.mounts.find((mount) => mount.destination === '/sys')?.options).toContain('ro')
  },
)

test.each([gvisorConfig(input), containerConfig(input)])(
  'limits cpu, memory, swap, processes and devices',
  (config) => {
    expect(config.linux.resources).toMatchObject({
      memory: { limit: 512 * 2 ** 20, swap: 512 * 2 ** 20 },
      cpu: { quota: 150_000, period: 100_000 },
      devices: [{ allow: false, access: 'rwm' }],
    })
    expect(config.linux.resources.pids.limit).toBeGreaterThanOrEqual(100)
    expect(config.linux.cgroupsPath).toBe(`/holt-test/${id}`)
  },
)

test('lets gVisor read the image itself, and keeps disk writes', () => {
  expect(gvisorConfig(input).annotations).toEqual({
    'dev.gvisor.spec.rootfs.source': '/state/images/x.erofs',
    'dev.gvisor.spec.rootfs.type': 'erofs',
    'dev.gvisor.spec.rootfs.overlay': 'dir=/state/runtimes/z/disk/upper',
  })
})

test('gives a container no way to gain privileges', () => {
  const { process, linux } = containerConfig(input)
  expect(process.noNewPrivileges).toBe(true)
  for (const capability of [
    'CAP_SYS_ADMIN',
    'CAP_NET_ADMIN',
    'CAP_NET_RAW',
    'CAP_SYS_PTRACE',
    'CAP_MKNOD',
    'CAP_DAC_READ_SEARCH',
  ]) {
    expect(CONTAINER_CAPABILITIES).not.toContain(capability)
  }
  expect(linux.namespaces.map(({ type }) => type).sort()).toEqual([
    'cgroup',
    'ipc',
    'mount',
    'network',
    'pid',
    'user',
    'uts',
  ])
  expect(linux.uidMappings).toEqual([{ containerID: 0, hostID: 0x7000_0000, size: 65_536 }])
  expect(linux.seccomp?.defaultAction).toBe('SCMP_ACT_ERRNO')
})

test('never asks for more open files than the host allows a container', () => {
  expect(openFilesOf(20_000)).toEqual({ soft: 20_000, hard: 20_000 })
  expect(containerConfig(input).process.env).toContain('HOLT_OPEN_FILES=20000')
  expect(gvisorConfig(input).process.rlimits[0]).toEqual({ type: 'RLIMIT_NOFILE', soft: 65_536, hard: 1_048_576 })
})

test('uses a longer period for a cpu share below the shortest slice', () => {
  expect(cgroupResources({ ...spec, cpu: 0.001 }, 10, true).cpu).toMatchObject({ quota: 1_000, period: 1_000_000 })
  expect(cgroupResources({ ...spec, cpu: 0.25 }, 10, false)).toMatchObject({
    cpu: { quota: 25_000, period: 100_000 },
    memory: { limit: 512 * 2 ** 20 },
  })
})
