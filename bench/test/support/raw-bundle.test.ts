import { describe, expect, it } from 'vitest'
import { rawBundleConfig } from '../../support/raw-bundle.ts'

const config = {
  process: { args: ['/run/holt-guest'], capabilities: { bounding: ['CAP_CHOWN'] } },
  root: { path: '/holt/rootfs', readonly: false },
  mounts: [
    { destination: '/proc', source: 'proc' },
    { destination: '/run/holt', source: '/holt/socket', options: ['rbind', 'ro'] },
    { destination: '/run/holt-guest', source: '/holt/guest' },
    { destination: '/run', source: 'tmpfs' },
  ],
  annotations: { 'dev.gvisor.spec.rootfs.source': '/image.erofs', 'dev.gvisor.spec.rootfs.overlay': 'dir=/holt/disk' },
  linux: {
    cgroupsPath: '/holt/rt',
    namespaces: [{ type: 'pid' }, { type: 'user', path: '/holt/users' }],
    uidMappings: [{ hostID: 100_000 }],
    resources: { pids: { limit: 7 } },
  },
}
const raw = {
  args: ['/bin/true'],
  rootfs: '/raw/rootfs',
  upper: '/raw/upper',
  socketDir: '/raw/sockets',
  cgroupsPath: '/bench/true',
}

describe('rawBundleConfig', () => {
  const made = rawBundleConfig(config, raw)

  it('keeps image, limits, capabilities and the other mounts', () => {
    expect(made.annotations['dev.gvisor.spec.rootfs.source']).toBe('/image.erofs')
    expect(made.linux.resources).toEqual({ pids: { limit: 7 } })
    expect(made.process.capabilities).toEqual({ bounding: ['CAP_CHOWN'] })
    expect(made.mounts.map(({ destination }) => destination)).toEqual(['/proc', '/run/holt', '/run'])
  })

  it('mounts its own directory in place of the socket', () => {
    expect(made.mounts[1]).toEqual({ destination: '/run/holt', source: '/raw/sockets', options: ['rbind', 'ro'] })
  })

  it('runs another program on its own root, disk and cgroup', () => {
    expect(made.process.args).toEqual(['/bin/true'])
    expect(made.root).toEqual({ path: '/raw/rootfs', readonly: false })
    expect(made.annotations['dev.gvisor.spec.rootfs.overlay']).toBe('dir=/raw/upper')
    expect(made.linux.cgroupsPath).toBe('/bench/true')
  })

  it('has no user namespace, which the guest would create', () => {
    expect(made.linux.namespaces).toEqual([{ type: 'pid' }])
    expect('uidMappings' in made.linux).toBe(false)
  })

  it('adds no annotations without existing ones', () => {
    const { annotations: _, ...container } = config
    expect('annotations' in rawBundleConfig(container, raw)).toBe(false)
  })
})
