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

/** Kernel interfaces that programs read and nobody may write. */
const READONLY_PATHS = ['/proc/sys', '/proc/sysrq-trigger'] as const

/**
 * Terminals of one runtime. The kernel has 3,072 for all (`kernel.pty.max` less `kernel.pty.reserve`), so twelve runtimes
 * that take all they can leave none for a thirteenth.
 */
const TERMINALS_MAX = 256

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
        options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5', `max=${TERMINALS_MAX}`],
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
      maskedPaths: input.masks,
      readonlyPaths: READONLY_PATHS,
      rootfsPropagation: 'private',
      seccomp: seccompProfile(input.arch),
    },
  }
}
