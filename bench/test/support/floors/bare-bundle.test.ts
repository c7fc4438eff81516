import { expect, it } from 'vitest'
import { bareBundleConfig } from '../../../support/floors/bare-bundle.ts'

const config = {
  process: { args: ['/bin/true'] },
  mounts: [{ destination: '/proc' }, { destination: '/run/holt' }],
  annotations: {
    'dev.gvisor.spec.rootfs.source': '/image.erofs',
    'dev.gvisor.spec.rootfs.overlay': 'dir=/raw/upper',
  },
  linux: { cgroupsPath: '/bench/true', resources: { pids: { limit: 7 } } },
}

it('keeps the image, the program and the cgroup, and drops mounts and the disk', () => {
  expect(bareBundleConfig(config)).toEqual({
    ...config,
    mounts: [],
    annotations: { 'dev.gvisor.spec.rootfs.source': '/image.erofs', 'dev.gvisor.spec.rootfs.overlay': 'memory' },
  })
})
