import type { Duplex } from 'node:stream'
import type { GuestLink } from './guest-link.ts'
import type { ImageTree } from './image-tree.ts'
import type { Transfer } from './transfer.ts'

/**
 * The Engine contract.
 *
 * An engine runs *anonymous* runtimes on a machine. It knows no projects, names, keys, quotas or
 * policies. The caller decides those and speaks to the guest through `dial`. Every verb takes an
 * id, is idempotent, and is safe to repeat after a crash of either side. The caller requests what
 * should exist (`ensure`, `remove`) and reads what exists (`observe`, `inspect`).
 *
 * Preconditions and results common to all verbs:
 * - The caller chooses `id`: 22 characters of `[a-z0-9]`, unique for ever.
 * - A verb that is aborted through its signal rejects with the signal's reason. The next `ensure`
 *   or `remove` of the same id finishes or undoes its work.
 * - Failures are `EngineError`. Its `kind` determines the caller's options.
 */
export interface Engine {
  /**
   * Returns the abilities of this engine on this host, with the reason for each missing one. Cheap
   * enough to call for each request.
   */
  describe(): Promise<EngineFacts>

  /**
   * Makes the runtime `spec.id` exist and run. Resolves when its guest has been started; `dial`
   * waits for the guest itself. The same id with an equal spec does nothing. With another spec it
   * fails with kind `conflict`. A runtime that has ended is not started again: kind `gone`.
   */
  ensure(spec: RuntimeSpec, signal: AbortSignal): Promise<void>

  /**
   * Returns one observation for each runtime that exists, then `{type: 'listed'}`, then changes as
   * they happen. Ends only with the signal.
   */
  observe(signal: AbortSignal): AsyncIterable<Observation>

  /** Returns the known state of one runtime; null if it does not exist. */
  inspect(id: RuntimeId): Promise<Observed | null>

  /**
   * Returns a link to the guest, the only data path to a runtime. Waits until the guest is
   * connected or the signal ends. The link stays valid over reconnections. A request in flight
   * while the guest reconnects fails with kind `unavailable`. Kind `not_found` if there is no such
   * runtime, `gone` if it has ended.
   */
  dial(id: RuntimeId, signal: AbortSignal): Promise<GuestLink>

  /** Ends the runtime and removes everything of it. A missing runtime is success. */
  remove(id: RuntimeId, signal: AbortSignal): Promise<void>

  /** Returns an ability that not every engine has; null if this one does not have it. */
  ability<Name extends keyof Abilities>(name: Name): Abilities[Name] | null

  /** Closes the sockets, watchers and timers of this process. Runtimes continue. */
  close(): Promise<void>
}

/** A runtime's id as the engine sees it. */
export type RuntimeId = string

/** The class of isolation of a runtime from its host. */
export type Isolation = 'gvisor' | 'container'

/** The content digest of an image, `sha256:` and 64 hex digits. */
export type ImageDigest = `sha256:${string}`

/**
 * The definition of a runtime. Two specs are equal if their canonical JSON is equal without
 * `restoreOnly`. That field tells how to make the runtime; it is not part of the runtime.
 */
export interface RuntimeSpec {
  readonly id: RuntimeId
  readonly isolation: Isolation
  /** The root filesystem. */
  readonly imageDigest: ImageDigest
  /** vCPUs, in steps of 0.001. */
  readonly cpu: number
  readonly memoryMiB: number
  /** The size of the writable disk. */
  readonly diskMiB: number
  /** The maximum number of processes and threads that the runtime may have. */
  readonly pidsMax: number
  /**
   * The checkpoint to restore; null for a cold boot. An engine that cannot restore it boots cold
   * instead and gives the reason in `Observed.fallback`.
   */
  readonly checkpointId: string | null
  /**
   * True if the runtime must not boot cold when `checkpointId` cannot be restored. Then `ensure`
   * fails with kind `incompatible`, or with `damaged`, also for a missing checkpoint.
   */
  readonly restoreOnly?: boolean
}

/** The state of a runtime as an engine sees it. */
export interface Observed {
  readonly id: RuntimeId
  readonly spec: RuntimeSpec
  readonly state: 'preparing' | 'running' | 'ended'
  /** The reason why it ended; null while it has not. */
  readonly ending: Ending | null
  /** True if it was restored from `spec.checkpointId`. */
  readonly restored: boolean
  /** The reason for a cold boot although `spec.checkpointId` names a checkpoint; null otherwise. */
  readonly fallback: Fallback | null
  /** True while it is frozen (`Freezer`). */
  readonly frozen: boolean
  readonly memoryKills: MemoryKills
}

/**
 * A cold boot in place of a restore. `absent`, `incompatible` and `damaged` are as in `Usability`.
 * `failed`: the runner could not restore the checkpoint.
 */
export interface Fallback {
  readonly reason: 'absent' | 'incompatible' | 'damaged' | 'failed'
  /** The text for the operator. It may name host paths. */
  readonly why: string
}

/** The processes killed because their runtime was out of memory, since this engine was opened. */
export interface MemoryKills {
  readonly count: number
  /** The last one, in the words of the guest; null if only the kernel knows it. */
  readonly last: {
    readonly name: string
    readonly resident_bytes: number
    readonly command_id: string | null
  } | null
}

/**
 * The end of a runtime. `out_of_memory`: the kernel killed it at its limit. `crashed`: its first
 * process ended by itself. `host_restarted`: the host has booted since. `start_failed`: it never
 * ran.
 */
export interface Ending {
  readonly reason: 'out_of_memory' | 'crashed' | 'host_restarted' | 'start_failed'
  readonly message: string
}

/** An item of `observe`. */
export type Observation =
  | { readonly type: 'present'; readonly observed: Observed }
  | { readonly type: 'listed' }
  | { readonly type: 'absent'; readonly id: RuntimeId }

/** The abilities of an engine on this host. */
export interface EngineFacts {
  /** The engine's own name and version, for example `host 0.2.0`. */
  readonly engine: string
  /** The host's architecture in Node's names: `x64`, `arm64`. */
  readonly arch: string
  readonly cpus: number
  /** The number of runtimes that `ensure` starts at once; more wait for their turn. */
  readonly startsAtOnce: number
  readonly memoryMiB: number
  /** The size of the file system that holds the disks. */
  readonly diskMiB: number
  readonly diskFreeMiB: number
  readonly isolation: Readonly<Record<Isolation, IsolationFacts>>
}

/** The availability of a class of isolation: its runner, or the reason why it is missing. */
export type IsolationFacts =
  | { readonly available: true; readonly runner: string; readonly canCheckpoint: boolean }
  | { readonly available: false; readonly reason: string; readonly fix: string | null }

/** Abilities that are asked for by name. */
export interface Abilities {
  readonly images: ImageStore
  readonly checkpoints: Checkpoints
  readonly egress: Egress
  readonly disks: Disks
  readonly freezer: Freezer
  readonly usage: Usage
  readonly transfer: Transfer
}

/** Root filesystems by digest. */
export interface ImageStore {
  /**
   * The format in which images are written here. In another format the same tar gives another
   * image. Images in an older format are out of date.
   */
  readonly format: string
  /**
   * Reads a tar stream to its end and publishes it as an image. The same content on the same base
   * gives the same digest and is stored once. With `base` the stream is an export from the guest of
   * a runtime made of that image (guest/PROTOCOL.md, Images). Content that the export leaves out is
   * taken from the base. Kind `not_found` if there is no such image, `invalid` if the stream and
   * the image do not fit together.
   */
  import(tar: AsyncIterable<Uint8Array>, signal: AbortSignal, options?: ImportOptions): Promise<ImageInfo>
  /** Returns true if the image exists and lacks no file. */
  has(digest: ImageDigest): Promise<boolean>
  /** Opens the tree of an image. Kinds `not_found` and `damaged`. */
  open(digest: ImageDigest): Promise<ImageTree>
  /** Returns all images. Damaged images are listed too, so that they can be removed. */
  list(): Promise<readonly ImageInfo[]>
  /** Removes an image. A missing image is success. Kind `in_use` while a runtime is made of it. */
  remove(digest: ImageDigest): Promise<void>
}

/** Options for turning a tar stream into an image. */
export interface ImportOptions {
  /** The image of the runtime that the stream was exported from. */
  readonly base?: ImageDigest
  /**
   * The largest image. A larger one is `invalid`. The bound exists because a guest can name base
   * files and holes any number of times.
   */
  readonly maxBytes?: number
  /**
   * Called once with the digest, after all is written and before the image can be found. If it
   * rejects, the import rejects with the same error and publishes nothing.
   */
  readonly beforePublish?: (digest: ImageDigest) => Promise<void>
}

/** A stored image. */
export interface ImageInfo {
  readonly digest: ImageDigest
  /** The bytes of the image, including those that it shares with others. */
  readonly sizeBytes: number
}

/** Memory checkpoints of runtimes. */
export interface Checkpoints {
  /**
   * Writes the runtime's memory, processes and files durably as `checkpointId`. Then it removes the
   * runtime or, with `leaveRunning`, continues it. The guest must have been quiesced. After any
   * failure, and however this process ends, the runtime runs until the checkpoint is durable. The
   * same id again is success. It is kind `conflict` if the runtime was to be removed and still
   * runs, because it may have been used since. Kind `not_supported` for a class without
   * checkpoints, `no_space` if the disk is full.
   */
  take(runtime: RuntimeId, checkpointId: string, signal: AbortSignal, options?: TakeOptions): Promise<CheckpointInfo>
  /**
   * Returns the usability of a checkpoint on this host now. It must come from the same maker, and
   * its files must be unchanged. With `restoreOnly` the answer is for a spec with `restoreOnly`:
   * the checkpoint may have an older guest, which it keeps. Otherwise a runtime needs the current
   * guest, and boots cold to get it. With `skipFiles` no file is read, which is quick, and damage
   * may stay unseen.
   */
  usable(
    checkpointId: string,
    options?: { readonly restoreOnly?: boolean; readonly skipFiles?: boolean },
  ): Promise<Usability>
  list(): Promise<readonly CheckpointInfo[]>
  /** Removes a checkpoint. A missing checkpoint is success. */
  remove(checkpointId: string): Promise<void>
}

/** Options for writing a checkpoint. */
export interface TakeOptions {
  /** True if the runtime keeps running afterwards. */
  readonly leaveRunning?: boolean
  /** Called when the runtime runs again, if that is before the checkpoint is durable. */
  readonly onRunning?: () => void
}

/**
 * The usability of a checkpoint. `absent`: there is none. `incompatible`: it has another engine,
 * CPU or image. `damaged`: its files have changed since they were written.
 */
export type Usability =
  | { readonly usable: true }
  | { readonly usable: false; readonly problem: 'absent' | 'incompatible' | 'damaged'; readonly why: string }

/** A stored checkpoint. */
export interface CheckpointInfo {
  readonly checkpointId: string
  readonly imageDigest: ImageDigest
  readonly isolation: Isolation
  readonly cpu: number
  readonly memoryMiB: number
  /** The disk size of the runtime it was taken of. A restored runtime has at least that. */
  readonly diskMiB: number
  readonly sizeBytes: number
}

/**
 * The egress of runtimes. Traffic leaves only through the accepted connections. A guest dials when
 * it has something to send. Without an open socket, all connections from inside are refused. A
 * restart of the process closes all sockets, so the caller opens them again.
 */
export interface Egress {
  /**
   * Opens the runtime's egress socket, or keeps it open. Each new connection of the guest is passed
   * to `accept`, which owns it. The last `accept` wins; connections of an earlier one stay with it.
   * Kind `not_found` if there is no such runtime, `gone` if it has ended.
   */
  open(id: RuntimeId, accept: (connection: Duplex) => void): Promise<void>
  /**
   * Closes the socket and ends its connections. A closed socket is success. `remove` closes it too.
   */
  close(id: RuntimeId): Promise<void>
  /**
   * Returns how the guest gets its tun device. `create`: the guest makes it. `socket`: the host
   * makes it, and its descriptor waits at `tun.sock`, to be fetched once within some seconds. Call
   * this right before each time that the guest is given a network. Kinds `not_found` and `gone` as
   * in `open`.
   */
  prepareTun(id: RuntimeId, signal: AbortSignal): Promise<'create' | 'socket'>
}

/** The disks of runtimes as the host sees them. Programs inside have no influence on the result. */
export interface Disks {
  /**
   * Returns the bytes on the runtime's disk: the data written since its image. Kind `not_found` if
   * there is no such runtime, `gone` if it has ended.
   */
  usedBytes(id: RuntimeId): Promise<number>
  /** True if this host can grow a disk that is in use. */
  readonly canGrow: boolean
  /**
   * Grows the disk of a running runtime to `diskMiB`, and changes its spec accordingly. The present
   * size is success. A smaller size is kind `invalid`: a disk never shrinks. Kinds `not_found`,
   * `gone`, `no_space`, and `not_supported` if `canGrow` is false.
   */
  grow(id: RuntimeId, diskMiB: number, signal: AbortSignal): Promise<void>
}

/**
 * Freezes runtimes. A frozen runtime keeps its memory, processes and connections, takes no CPU, and
 * does not answer until it is thawed. `remove` and `grow` work on a frozen runtime. `take` fails
 * with kind `conflict`, because the guest must be quiesced.
 */
export interface Freezer {
  /** Freezes a runtime. A frozen one is success. Kinds `not_found` and `gone`. */
  freeze(id: RuntimeId): Promise<void>
  /** Thaws a runtime. A thawed one is success. Kinds `not_found` and `gone`. */
  thaw(id: RuntimeId): Promise<void>
}

/**
 * The usage of runtimes, measured by the host. The guest is not asked, so frozen runtimes are
 * measured as well, and no runtime can falsify its usage.
 */
export interface Usage {
  /** Reads the present usage. It waits for no other verb. Kinds `not_found` and `gone`. */
  read(id: RuntimeId): Promise<RuntimeUsage>
}

/** The usage of one runtime. */
export interface RuntimeUsage {
  /** The processor time in microseconds since the runtime was made or restored on this host. */
  readonly cpuUsec: number
  /** The memory in use, without the part that the kernel could reclaim. */
  readonly memoryBytes: number
  /** The same as `Disks.usedBytes`. */
  readonly diskBytes: number
  /** The number of processes inside; null if the host cannot tell them from those of the runner. */
  readonly processes: number | null
}

/** The kinds of failure, by the caller's options. */
export type EngineErrorKind =
  | 'conflict'
  | 'not_found'
  | 'gone'
  | 'in_use'
  | 'invalid'
  | 'not_supported'
  | 'no_space'
  | 'incompatible'
  | 'damaged'
  | 'unavailable'
  | 'failed'
  /** The guest's answer violates the protocol, or does not match the request. */
  | 'wrong_answer'

/**
 * The one error class of engines. `message` is for the operator; it may name host paths and is
 * never sent to a client.
 */
export class EngineError extends Error {
  readonly kind: EngineErrorKind
  constructor(kind: EngineErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EngineError'
    this.kind = kind
  }
}
