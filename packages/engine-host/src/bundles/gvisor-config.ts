import { type BundleInput, guestMounts, guestProcess, runnerLimits, shmMount } from './bundle-input.ts'
import { cgroupResources } from './limits.ts'
import type { OciConfig } from './oci-config.ts'

/**
 * The capabilities of root inside gVisor. They act on gVisor's own kernel, and none is held on the
 * host. Sudo, package managers, debuggers, loopback networks and mounts work.
 */
const GVISOR_CAPABILITIES = [
  'CAP_AUDIT_WRITE',
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_DAC_READ_SEARCH',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_IPC_LOCK',
  'CAP_IPC_OWNER',
  'CAP_KILL',
  'CAP_LEASE',
  'CAP_LINUX_IMMUTABLE',
  'CAP_MKNOD',
  'CAP_NET_ADMIN',
  'CAP_NET_BIND_SERVICE',
  'CAP_SETFCAP',
  'CAP_SETGID',
  'CAP_SETPCAP',
  'CAP_SETUID',
  'CAP_SYS_ADMIN',
  'CAP_SYS_CHROOT',
  'CAP_SYS_NICE',
  'CAP_SYS_PTRACE',
  'CAP_SYS_RESOURCE',
  'CAP_SYS_TIME',
  'CAP_SYS_TTY_CONFIG',
] as const

/**
 * Returns the bundle of a gVisor runtime. The root is the EROFS image itself, which the sentry
 * reads. Its overlay is in a file on the runtime's disk (annotations: gVisor,
 * `runsc/boot/mount_hints.go`).
 */
export function gvisorConfig(input: BundleInput): OciConfig {
  const { spec } = input
  return {
    ociVersion: '1.0.2',
    process: guestProcess({
      capabilities: GVISOR_CAPABILITIES,
      rlimits: runnerLimits(Number.POSITIVE_INFINITY),
      noNewPrivileges: false,
    }),
    root: { path: input.paths.rootfs, readonly: false },
    hostname: spec.id,
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=0755', 'size=65536k'] },
      { destination: '/dev/pts', type: 'devpts', source: 'devpts' },
      shmMount(spec.memoryMiB),
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['ro', 'nosuid', 'noexec', 'nodev'] },
      ...guestMounts(input),
    ],
    annotations: {
      'dev.gvisor.spec.rootfs.source': input.image,
      'dev.gvisor.spec.rootfs.type': 'erofs',
      'dev.gvisor.spec.rootfs.overlay': `dir=${input.upper}`,
    },
    linux: {
      cgroupsPath: input.cgroupsPath,
      namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
      resources: cgroupResources(spec, gvisorThreads(spec.pidsMax), input.limitsSwap),
    },
  }
}

/**
 * Returns the number of threads that the host must allow so that the guest's own limit applies
 * first. Each thread inside has a stub thread and may have a goroutine's thread in the sentry. The
 * sentry has some more of its own.
 */
function gvisorThreads(pidsMax: number): number {
  return 4 * pidsMax + 512
}
