import type { RuntimeSpec } from '@holt/engine'
import type { RuntimePaths } from '../layout.ts'
import type { OciConfig } from './oci-config.ts'

/** The input of a bundle. None of it comes from an image or a tenant. */
export interface BundleInput {
  readonly spec: RuntimeSpec
  readonly paths: RuntimePaths
  /** The image as one file (`gvisor`), or unused where the root is mounted by the host. */
  readonly image: string
  /** The guest binary on the host. */
  readonly guest: string
  /** Directory on the runtime's disk that takes what it writes. */
  readonly upper: string
  readonly cgroupsPath: string
  /** False where the host has no swap and no way to limit it. */
  readonly limitsSwap: boolean
  /** The most open files the engine may allow a process. */
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

/** The path at which the guest finds itself and its socket. */
const GUEST_PATH = '/run/holt-guest'
const SOCKET_DIR = '/run/holt'

/** The guest's own environment; commands get theirs from `bind`. */
const GUEST_ENV = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root']

/**
 * Files a process may have open: what programs find at their start, and the most they may raise it
 * to.
 */
const OPEN_FILES = 65_536
const OPEN_FILES_MAX = 1_048_576

/** Limits of each process, as OCI has them. */
type Rlimits = OciConfig['process']['rlimits']

/**
 * Returns the most files that a process of a runtime may open, bounded by the limit of the engine
 * itself.
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

/** When the whole host is out of memory, a runtime goes before the daemon does. */
const OOM_SCORE_ADJ = 100

/** The first process of every runtime: the guest, as root, with what its class lets root do. */
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
 * The two things of the host a runtime sees, both read-only: the guest's binary and the directory
 * with its socket.
 */
export function guestMounts(input: BundleInput) {
  const options = ['ro', 'nosuid', 'nodev']
  return [
    { destination: SOCKET_DIR, type: 'bind', source: input.paths.socketDir, options: ['rbind', 'noexec', ...options] },
    { destination: GUEST_PATH, type: 'bind', source: input.guest, options: ['bind', ...options] },
  ]
}

/** Size of `/dev/shm`: half the memory, as Linux gives a tmpfs. */
export function shmMount(memoryMiB: number) {
  const size = Math.max(1, Math.floor(memoryMiB / 2))
  return {
    destination: '/dev/shm',
    type: 'tmpfs',
    source: 'shm',
    options: ['nosuid', 'nodev', 'mode=1777', `size=${size * 1024}k`],
  }
}
