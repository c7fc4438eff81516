import { join } from 'node:path'
import { EngineError, type ImageDigest, type Isolation, type RuntimeId } from '@holt/engine'

/** The paths of everything in one installation. Nothing here accesses the disk. */
export interface Layout {
  readonly stateDir: string
  readonly runDir: string
  /** The file that names the owner of the run directory. */
  readonly runDirOwner: string
  /** The runners' state roots. */
  readonly runners: string
  readonly images: string
  readonly imageMounts: string
  readonly checkpoints: string
  readonly disks: string
  readonly guests: string
  /** The classes in which a runtime has booted, with the versions that it booted with. */
  readonly booted: string
  readonly runtimes: string
  image(digest: ImageDigest): string
  /**
   * Returns the base of an image that is a delta. It is a hard link, so that it lives as long as
   * the delta. An image in a single file has none.
   */
  imageBase(digest: ImageDigest): string
  imageMount(digest: ImageDigest): string
  /** Returns the mount point at which a delta and its base are one file. */
  wholeMount(digest: ImageDigest): string
  checkpoint(checkpointId: string): string
  /** Returns the guest binary with this SHA-256. */
  guest(sha256: string): string
  /** Returns the state directory of a trial start. It is absent while there is none. */
  trial(isolation: Isolation): string
  runtime(id: RuntimeId): RuntimePaths
}

/** The files of one runtime. */
export interface RuntimePaths {
  readonly id: RuntimeId
  /**
   * The directory of everything below except the socket and the runner's state. It is the OCI
   * bundle.
   */
  readonly dir: string
  readonly record: string
  readonly config: string
  readonly runnerLog: string
  readonly panicLog: string
  readonly pidFile: string
  readonly diskImage: string
  readonly diskMount: string
  readonly rootfs: string
  /** The directory that is mounted read-only into the runtime at `/run/holt`. */
  readonly socketDir: string
  readonly socket: string
  /** The socket at which the runtime's egress connections arrive. */
  readonly egressSocket: string
  /** The socket from which a guest that makes no tun device fetches one. */
  readonly tunSocket: string
  /**
   * The state root of runsc or runc for this runtime alone. Its state is forgotten by removing the
   * directory.
   */
  readonly runnerState: string
}

/** The longest Unix socket path Linux takes, without the final NUL (`unix(7)`). */
const SOCKET_PATH_MAX = 107

/**
 * Returns the layout of an installation. Throws kind `invalid` if `runDir` is too long for a socket
 * path.
 */
export function layoutOf(stateDir: string, runDir: string): Layout {
  const images = join(stateDir, 'images')
  const checkpoints = join(stateDir, 'checkpoints')
  const runtimes = join(stateDir, 'runtimes')
  const layout: Layout = {
    stateDir,
    runDir,
    runDirOwner: join(runDir, '.owner'),
    runners: join(runDir, '.runner'),
    images,
    imageMounts: join(images, '.mnt'),
    checkpoints,
    disks: join(stateDir, 'disks'),
    guests: join(stateDir, 'guests'),
    booted: join(stateDir, 'booted.json'),
    runtimes,
    image: (digest) => join(images, `${hexOf(digest)}.erofs`),
    imageBase: (digest) => join(images, `${hexOf(digest)}.base`),
    imageMount: (digest) => join(images, '.mnt', hexOf(digest)),
    wholeMount: (digest) => join(images, '.mnt', `${hexOf(digest)}.whole`),
    checkpoint: (checkpointId) => join(checkpoints, checkedCheckpointId(checkpointId)),
    guest: (sha256) => join(stateDir, 'guests', sha256, 'holt-guest'),
    trial: (isolation) => join(stateDir, `trial-${isolation}`),
    runtime: (id) => runtimePaths(join(runtimes, checkedRuntimeId(id)), runDir, id),
  }
  const sample = layout.runtime('x'.repeat(22)).socket
  if (Buffer.byteLength(sample) > SOCKET_PATH_MAX) {
    throw new EngineError('invalid', `runDir is too long: ${sample} has more than ${SOCKET_PATH_MAX} bytes`)
  }
  return layout
}

function runtimePaths(dir: string, runDir: string, id: RuntimeId): RuntimePaths {
  const socketDir = join(runDir, id)
  return {
    id,
    dir,
    record: join(dir, 'runtime.json'),
    config: join(dir, 'config.json'),
    runnerLog: join(dir, 'runner.log'),
    panicLog: join(dir, 'panic.log'),
    pidFile: join(dir, 'pid'),
    diskImage: join(dir, 'disk.img'),
    diskMount: join(dir, 'disk'),
    rootfs: join(dir, 'rootfs'),
    socketDir,
    socket: join(socketDir, 'control.sock'),
    egressSocket: join(socketDir, 'egress.sock'),
    tunSocket: join(socketDir, 'tun.sock'),
    runnerState: join(runDir, '.runner', id),
  }
}

/** Returns the 64 hex digits of a digest. Throws kind `invalid` for anything else. */
export function hexOf(digest: string): string {
  const hex = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1]
  if (hex === undefined) throw new EngineError('invalid', `not an image digest: ${JSON.stringify(digest)}`)
  return hex
}

/** Returns true if `id` is a valid runtime id. */
export function isRuntimeId(id: string): boolean {
  return /^[a-z0-9]{22}$/.test(id)
}

function checkedRuntimeId(id: string): string {
  if (!isRuntimeId(id)) throw new EngineError('invalid', `not a runtime id: ${JSON.stringify(id)}`)
  return id
}

/** Returns true if `id` is a valid checkpoint id. */
export function isCheckpointId(id: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(id)
}

function checkedCheckpointId(id: string): string {
  if (!isCheckpointId(id)) throw new EngineError('invalid', `not a checkpoint id: ${JSON.stringify(id)}`)
  return id
}
