import { join } from 'node:path'
import { IDS_OF_RUNTIME } from '../runtimes/id-ranges.ts'
import { type BundleInput, guestMounts, guestProcess, openFilesOf, shmMount } from './bundle-input.ts'
import { cgroupResources } from './limits.ts'
import type { OciConfig } from './oci-config.ts'
import { seccompProfile } from './seccomp-profile.ts'

/**
 * The capabilities that a package manager and a multi-user system need. None has an effect outside
 * the container.
 */
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

/**
 * Paths that are read-only for every program. With cgroup v1 the runner mounts cgroups below a
 * tmpfs that root could write to.
 */
const READONLY_PATHS = ['/proc/sys', '/proc/sysrq-trigger', '/sys/fs/cgroup'] as const

/**
 * The terminals of one runtime. The kernel has 3,072 in total (`kernel.pty.max` less
 * `kernel.pty.reserve`), so twelve runtimes at their limit leave none for a thirteenth.
 */
const TERMINALS_MAX = 256

/** Returns the bundle of a container. Its root is an overlay that the host has mounted. */
export function containerConfig(input: BundleInput): OciConfig {
  const { spec } = input
  const ids = [{ containerID: 0, hostID: input.firstId, size: IDS_OF_RUNTIME }]
  const quiet = ['nosuid', 'noexec', 'nodev']
  return {
    ociVersion: '1.0.2',
    process: guestProcess({
      capabilities: CONTAINER_CAPABILITIES,
      // Open files and core dumps are limited before the runner starts (`holt-guest contain`). The
      // guest then lowers the soft limit of open files.
      rlimits: [],
      env: [`HOLT_OPEN_FILES=${openFilesOf(input.openFilesMax).soft}`],
      noNewPrivileges: true,
    }),
    root: { path: join(input.rootPlace, 'root'), readonly: false },
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
      namespaces: [
        ...['pid', 'network', 'ipc', 'uts', 'mount', 'cgroup'].map((type) => ({ type })),
        { type: 'user', path: join(input.rootPlace, 'users') },
      ],
      uidMappings: ids,
      gidMappings: ids,
      resources: cgroupResources(spec, spec.pidsMax, input.limitsSwap),
      maskedPaths: input.masks,
      readonlyPaths: READONLY_PATHS,
      rootfsPropagation: 'private',
      seccomp: seccompProfile(input.arch),
    },
  }
}
