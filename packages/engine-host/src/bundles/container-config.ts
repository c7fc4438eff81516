import { type BundleInput, guestMounts, guestProcess, shmMount } from './bundle-input.ts'
import { cgroupResources } from './limits.ts'
import type { OciConfig } from './oci-config.ts'
import { seccompProfile } from './seccomp-profile.ts'

/** What a package manager and a multi-user system need, and nothing that reaches past the container. */
export const CONTAINER_CAPABILITIES = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_NET_BIND_SERVICE',
  'CAP_SETFCAP',
  'CAP_SETGID',
  'CAP_SETUID',
  'CAP_SYS_CHROOT',
] as const

/** Kernel interfaces that show or change the host. */
const MASKED_PATHS = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/config.gz',
  '/proc/diskstats',
  '/proc/iomem',
  '/proc/ioports',
  '/proc/kallsyms',
  '/proc/kcore',
  '/proc/key-users',
  '/proc/keys',
  '/proc/kmsg',
  '/proc/kpagecgroup',
  '/proc/kpagecount',
  '/proc/kpageflags',
  '/proc/latency_stats',
  '/proc/modules',
  '/proc/mtrr',
  '/proc/pagetypeinfo',
  '/proc/partitions',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/slabinfo',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/vmallocinfo',
  '/sys/block',
  '/sys/bus',
  '/sys/class/block',
  '/sys/dev/block',
  '/sys/devices/virtual/block',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
  '/sys/kernel/debug',
  '/sys/kernel/security',
  '/sys/kernel/slab',
  '/sys/kernel/tracing',
  '/sys/module',
  '/sys/power',
] as const

/** Kernel interfaces that programs read and nobody may write. */
const READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'] as const

/** The bundle of a container: its root is an overlay that the host has mounted. */
export function containerConfig(input: BundleInput): OciConfig {
  const { spec } = input
  const quiet = ['nosuid', 'noexec', 'nodev']
  return {
    ociVersion: '1.0.2',
    process: guestProcess({
      capabilities: CONTAINER_CAPABILITIES,
      openFilesMax: input.openFilesMax,
      noNewPrivileges: true,
    }),
    root: { path: input.paths.rootfs, readonly: false },
    hostname: spec.id,
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc', options: quiet },
      {
        destination: '/dev',
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['nosuid', 'noexec', 'mode=0755', 'size=65536k'],
      },
      {
        destination: '/dev/pts',
        type: 'devpts',
        source: 'devpts',
        options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5'],
      },
      shmMount(spec.memoryMiB),
      { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: quiet },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['ro', ...quiet] },
      { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: ['ro', ...quiet] },
      ...guestMounts(input),
    ],
    linux: {
      cgroupsPath: input.cgroupsPath,
      namespaces: ['pid', 'network', 'ipc', 'uts', 'mount', 'cgroup'].map((type) => ({ type })),
      resources: cgroupResources(spec, spec.pidsMax, input.limitsSwap),
      maskedPaths: MASKED_PATHS,
      readonlyPaths: READONLY_PATHS,
      rootfsPropagation: 'private',
      seccomp: seccompProfile(input.arch),
    },
  }
}
