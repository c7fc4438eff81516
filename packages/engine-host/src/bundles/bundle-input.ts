import type { RuntimeSpec } from '@holt/engine'
import type { RuntimePaths } from '../installation/layout.ts'
import type { OciConfig } from './oci-config.ts'

/** The input of a bundle. None of it comes from an image or a tenant. */
export interface BundleInput {
  readonly spec: RuntimeSpec
  readonly paths: RuntimePaths
  /** The image as one file (`gvisor`). Unused if the host mounts the root. */
  readonly image: string
  /** The guest binary on the host. */
  readonly guest: string
  /** The directory on the runtime's disk that receives its writes. */
  readonly upper: string
  readonly cgroupsPath: string
  /** False if the host has no swap and no way to limit it. */
  readonly limitsSwap: boolean
  /** The maximum number of open files the engine may allow a process. */
  readonly openFilesMax: number
  /** The host's id of user 0 of a container. */
  readonly firstId: number
  /** The path at which the runner of a container finds its root and its users. */
  readonly rootPlace: string
  /** Paths of `/proc` and `/sys` that a container may not see. */
  readonly masks: readonly string[]
  /** The architecture, as Node names it. */
  readonly arch: string
}

/** The paths at which the guest finds itself and its socket. */
const GUEST_PATH = '/run/holt-guest'
const SOCKET_DIR = '/run/holt'

/** The guest's own environment. Commands get theirs from `bind`. */
const GUEST_ENV = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root']

/**
 * The number of files that a process may open: the soft limit at its start, and the hard limit up
 * to which it may raise it.
 */
const OPEN_FILES = 65_536
const OPEN_FILES_MAX = 1_048_576

/** The limits of each process, in OCI's form. */
type Rlimits = OciConfig['process']['rlimits']

/**
 * Returns the most files that a process of a runtime may open. The limit of the engine itself
 * bounds it.
 */
export function openFilesOf(openFilesMax: number): { readonly soft: number; readonly hard: number } {
  const hard = Math.min(OPEN_FILES_MAX, openFilesMax)
  return { soft: Math.min(OPEN_FILES, hard), hard }
}

/** Returns the limits that a runner sets. Core dumps are off, because they would hold secrets. */
export function runnerLimits(openFilesMax: number): Rlimits {
  return [
    { type: 'RLIMIT_NOFILE', ...openFilesOf(openFilesMax) },
    { type: 'RLIMIT_CORE', soft: 0, hard: 0 },
  ]
}

/**
 * The score with which the kernel kills a runtime before the daemon if the host is out of memory.
 */
const OOM_SCORE_ADJ = 100

/**
 * Returns the first process of every runtime: the guest, as root, with the capabilities of its
 * class.
 */
export function guestProcess({
  capabilities,
  rlimits,
  env = [],
  noNewPrivileges,
}: {
  capabilities: readonly string[]
  rlimits: Rlimits
  env?: readonly string[]
  noNewPrivileges: boolean
}): OciConfig['process'] {
  return {
    terminal: false,
    user: { uid: 0, gid: 0 },
    args: [GUEST_PATH],
    env: [...GUEST_ENV, ...env],
    cwd: '/',
    capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    rlimits,
    noNewPrivileges,
    oomScoreAdj: OOM_SCORE_ADJ,
  }
}

/**
 * Returns the two mounts of the host that a runtime sees, both read-only. They are the guest's
 * binary and the directory with its socket.
 */
export function guestMounts(input: BundleInput) {
  const options = ['ro', 'nosuid', 'nodev']
  return [
    { destination: SOCKET_DIR, type: 'bind', source: input.paths.socketDir, options: ['rbind', 'noexec', ...options] },
    { destination: GUEST_PATH, type: 'bind', source: input.guest, options: ['bind', ...options] },
  ]
}

/** Returns the mount of `/dev/shm`. Its size is half the memory, the default of a Linux tmpfs. */
export function shmMount(memoryMiB: number) {
  const size = Math.max(1, Math.floor(memoryMiB / 2))
  return {
    destination: '/dev/shm',
    type: 'tmpfs',
    source: 'shm',
    options: ['nosuid', 'nodev', 'mode=1777', `size=${size * 1024}k`],
  }
}
