import type { Duplex } from 'node:stream'
import type { GuestLink } from './guest-link.ts'

/**
 * The Engine contract.
 *
 * An engine runs *anonymous* runtimes on some machine. It knows nothing of projects, names, keys,
 * quotas or policies: whoever calls it decides those and speaks to the guest through `dial`. Every
 * verb is addressed by id, is idempotent, and is safe to repeat after a crash of either side: the
 * caller says what should exist (`ensure`, `remove`) and reads what does (`observe`, `inspect`).
 *
 * Preconditions and results common to all verbs:
 * - `id` is chosen by the caller: 22 characters of `[a-z0-9]`, unique for ever.
 * - A verb that is aborted through its signal rejects with the signal's reason; what it had begun is finished or undone by
 *   the next `ensure` or `remove` of the same id.
 * - Failures are `EngineError`; its `kind` says what a caller may do about it.
 */
export interface Engine {
  /**
   * Returns the abilities of this engine on this host, with the reason for each missing one. Cheap
   * enough to call for each request.
   */
  describe(): Promise<EngineFacts>

  /**
   * Makes the runtime `spec.id` exist and run. Resolves when its guest has been started; `dial`
   * waits for the guest itself. The same id with an equal spec does nothing; with another spec it
   * fails with kind `conflict`. A runtime that has ended is not started again: kind `gone`.
   */
  ensure(spec: RuntimeSpec, signal: AbortSignal): Promise<void>

  /**
   * First one observation for each runtime that exists, then `{type: 'listed'}`, then changes as
   * they happen. Ends only with the signal.
   */
  observe(signal: AbortSignal): AsyncIterable<Observation>

  /** Returns the known state of one runtime; null if it does not exist. */
  inspect(id: RuntimeId): Promise<Observed | null>

  /**
   * The only data path to a runtime. Waits until the guest is connected (or the signal ends it) and
   * returns a link that stays valid over reconnections; a request in flight while the guest
   * reconnects fails with kind `unavailable`. Kind `not_found` when there is no such runtime,
   * `gone` when it has ended.
   */
  dial(id: RuntimeId, signal: AbortSignal): Promise<GuestLink>

  /** Ends the runtime and removes everything of it. Gone is success. */
  remove(id: RuntimeId, signal: AbortSignal): Promise<void>

  /** An ability that not every engine has; null where this one has not. */
  ability<Name extends keyof Abilities>(name: Name): Abilities[Name] | null

  /** Lets go of sockets, watchers and timers of this process. Runtimes go on. */
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
 * `restoreOnly`, which says how to make the runtime, not what it is.
 */
export interface RuntimeSpec {
  readonly id: RuntimeId
  readonly isolation: Isolation
  /** The root filesystem. */
  readonly imageDigest: ImageDigest
  /** vCPUs, in steps of 0.001. */
  readonly cpu: number
  readonly memoryMiB: number
  /** Size of the writable disk. */
  readonly diskMiB: number
  /** Most processes and threads the runtime may have. */
  readonly pidsMax: number
  /**
   * A checkpoint to restore; null for a cold boot. An engine that cannot restore it boots cold
   * instead and gives the reason in `Observed.fallback`.
   */
  readonly checkpointId: string | null
  /**
   * True: what cannot be restored from `checkpointId` is not booted cold, but fails with kind
   * `incompatible`, or `damaged` (which one that is not there is, too).
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
  /** True when it came from `spec.checkpointId`. */
  readonly restored: boolean
  /**
   * The reason why it was booted cold although `spec.checkpointId` names a checkpoint; null if it
   * was not.
   */
  readonly fallback: Fallback | null
  /** True while it stands still (`Freezer`). */
  readonly frozen: boolean
  readonly memoryKills: MemoryKills
}

/**
 * A cold boot in place of a restore. `absent`, `incompatible` and `damaged` are as in `Usability`;
 * `failed`: the runner could not restore it.
 */
export interface Fallback {
  readonly reason: 'absent' | 'incompatible' | 'damaged' | 'failed'
  /** For the operator; it may name host paths. */
  readonly why: string
}

/**
 * The processes that were killed because their runtime was out of memory, since this engine was
 * opened.
 */
export interface MemoryKills {
  readonly count: number
  /** The last one, in the words of the guest; null where only the kernel knows. */
  readonly last: {
    readonly name: string
    readonly resident_bytes: number
    readonly command_id: string | null
  } | null
}

/**
 * `out_of_memory`: the kernel killed it at its limit; `crashed`: its first process ended by itself;
 * `host_restarted`: the host booted since; `start_failed`: it never ran.
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
  /** Host architecture as Node names it: `x64`, `arm64`. */
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

/** The availability of a class of isolation: with what, or why not. */
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
}

/** Root filesystems by digest. */
export interface ImageStore {
  /**
   * The format in which images are written here. In another format the same tar gives another
   * image, and images kept in an older format are out of date.
   */
  readonly format: string
  /**
   * Reads a tar stream to its end and publishes it as an image. The same content on the same base
   * gives the same digest and is stored once. With `base` the stream is what the guest of a runtime
   * made of that image has exported (guest/PROTOCOL.md, Images): content that it leaves out is
   * taken from there. Kind `not_found` when there is no such image, `invalid` when the stream and
   * the image do not fit together.
   */
  import(tar: AsyncIterable<Uint8Array>, signal: AbortSignal, options?: ImportOptions): Promise<ImageInfo>
  /** True if there is such an image that lacks no file. */
  has(digest: ImageDigest): Promise<boolean>
  /** Damaged images are listed too, so that they can be removed. */
  list(): Promise<readonly ImageInfo[]>
  /** Gone is success; kind `in_use` while a runtime is made of it. */
  remove(digest: ImageDigest): Promise<void>
}

/** Options for turning a tar stream into an image. */
export interface ImportOptions {
  /** The image of the runtime that the stream was exported from. */
  readonly base?: ImageDigest
  /**
   * A larger image is `invalid`: a guest can name files of the image below, and holes, as often as
   * it likes.
   */
  readonly maxBytes?: number
  /**
   * Called once with the digest, when all is written and before anybody can find the image. What it
   * rejects with, the import does, and publishes nothing.
   */
  readonly beforePublish?: (digest: ImageDigest) => Promise<void>
}

/** An image at rest. */
export interface ImageInfo {
  readonly digest: ImageDigest
  /** Bytes of the image, those included that it shares with others. */
  readonly sizeBytes: number
}

/** Memory checkpoints of runtimes. */
export interface Checkpoints {
  /**
   * Writes the runtime's memory, processes and files as `checkpointId`, durably, and removes the
   * runtime, or has it go on where `goOn` says so. The guest must have been quiesced. Whatever
   * fails, and however this process ends, the runtime runs until the checkpoint is durable. The
   * same id again is success, or kind `conflict` where the runtime was to be removed and runs: it
   * may have been used since. Kind `not_supported` for a class that has none, `no_space`.
   */
  take(runtime: RuntimeId, checkpointId: string, signal: AbortSignal, options?: TakeOptions): Promise<CheckpointInfo>
  /**
   * Whether it can be restored on this host now: its maker is this one and its files are what was
   * written. With `restoreOnly` it is asked as for a spec that says so: it may have an older guest
   * then, which it keeps. Else runtimes get the guest of today, and boot for it.
   */
  usable(checkpointId: string, options?: { readonly restoreOnly?: boolean }): Promise<Usability>
  list(): Promise<readonly CheckpointInfo[]>
  /** Gone is success. */
  remove(checkpointId: string): Promise<void>
}

/** Options for writing a checkpoint. */
export interface TakeOptions {
  /** True: it goes on. */
  readonly goOn?: boolean
  /** Called when it goes on, where that is before what was written is durable. */
  readonly onGoOn?: () => void
}

/**
 * The usability of a checkpoint. `absent`: there is none; `incompatible`: another engine, CPU or
 * image; `damaged`: its files are not what was written.
 */
export type Usability =
  | { readonly usable: true }
  | { readonly usable: false; readonly problem: 'absent' | 'incompatible' | 'damaged'; readonly why: string }

/** A checkpoint at rest. */
export interface CheckpointInfo {
  readonly checkpointId: string
  readonly imageDigest: ImageDigest
  readonly isolation: Isolation
  readonly cpu: number
  readonly memoryMiB: number
  /** The disk of the runtime it was taken of: one that is restored has at least that. */
  readonly diskMiB: number
  readonly sizeBytes: number
}

/**
 * The way out of runtimes: nothing leaves but what the accepted connections carry. A guest dials
 * when it has something to carry; while nobody has opened, nothing listens and everything inside is
 * refused. Only this process's openings count: after a restart the caller opens again.
 */
export interface Egress {
  /**
   * Opens the runtime's egress socket, or keeps it open: each connection the guest makes from now
   * on is handed to `accept`, which owns it. The last `accept` wins; connections that an earlier
   * one has stay its own. Kind `not_found` when there is no such runtime, `gone` when it has ended.
   */
  open(id: RuntimeId, accept: (connection: Duplex) => void): Promise<void>
  /** Closes the socket and ends its connections. Gone is success; `remove` does it too. */
  close(id: RuntimeId): Promise<void>
  /**
   * Says how the guest gets its tun device: `create`, it makes one itself; `socket`, one is made
   * for it and its descriptor waits at `tun.sock`, to be fetched once within some seconds. Ask
   * right before each time the guest is given a network. Kinds `not_found` and `gone` as in `open`.
   */
  prepareTun(id: RuntimeId, signal: AbortSignal): Promise<'create' | 'socket'>
}

/** Disks of runtimes, as the host sees them: what is inside has no say. */
export interface Disks {
  /**
   * Bytes that the runtime's disk holds: what was written since its image. Kind `not_found` when
   * there is no such runtime, `gone` when it has ended.
   */
  usedBytes(id: RuntimeId): Promise<number>
  /** True if this host can grow a disk that is in use. */
  readonly canGrow: boolean
  /**
   * Makes the disk of a runtime that runs `diskMiB` large, which its spec has from then on. As
   * large already is success, larger is kind `invalid`: a disk never shrinks. Kinds `not_found`,
   * `gone`, `no_space`, and `not_supported` where `canGrow` is false.
   */
  grow(id: RuntimeId, diskMiB: number, signal: AbortSignal): Promise<void>
}

/**
 * Lets a runtime stand still where it is: it keeps its memory, processes and connections, takes no
 * CPU, and answers nothing until it is thawed. `remove` and `grow` work on one that is frozen;
 * `take` fails with kind `conflict`, as its guest must be quiesced.
 */
export interface Freezer {
  /** Frozen is success. Kinds `not_found` and `gone`. */
  freeze(id: RuntimeId): Promise<void>
  /** Thawed is success. Kinds `not_found` and `gone`. */
  thaw(id: RuntimeId): Promise<void>
}

/**
 * The usage of runtimes, measured by the host. Nobody inside is asked, so a frozen runtime is
 * measured like any other, and none can lie.
 */
export interface Usage {
  /** Reads it now. It waits for no other verb. Kinds `not_found` and `gone`. */
  read(id: RuntimeId): Promise<RuntimeUsage>
}

/** The usage of one runtime. */
export interface RuntimeUsage {
  /** Processor time in microseconds since the runtime was made or restored on this host. */
  readonly cpuUsec: number
  /** Memory in use, without what the kernel could give back. */
  readonly memoryBytes: number
  /** The same as `Disks.usedBytes`. */
  readonly diskBytes: number
  /** Processes inside; null where the host cannot tell them from those of the runner. */
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
  /** The guest's answer violates the protocol, or is about something else than the request. */
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
