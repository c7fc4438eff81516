import type {
  CreateSnapshotInput,
  EventItem,
  FileDiff,
  ForkDryRun,
  ForkRuntimeInput,
  Runtime as RuntimeData,
  RuntimeMetrics,
  Snapshot,
  UpdateRuntimeInput,
} from '@holt/protocol'
import { Code } from './code/code.ts'
import { Commands } from './commands.ts'
import { HoltError } from './errors/errors.ts'
import { queryOf } from './events.ts'
import { Files } from './files/files.ts'
import { type Fork, makeFork } from './fork.ts'
import { Git } from './git/git.ts'
import { Network } from './network.ts'
import { Ports } from './ports.ts'
import { eventStream, resumeItems } from './transport/item-stream.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/**
 * A runtime: its last known state, in the API's own words, and the actions on it. Its public ports
 * are `ports.public`.
 */
export type Runtime = Readonly<Omit<RuntimeData, 'ports'>> & RuntimeActions

/** The body of a fork. */
export type NewFork = Omit<ForkRuntimeInput, 'dry_run'>

/** The options of an action that happens only once, even if its answer is lost. */
export interface OnceOptions extends CallOptions {
  /** The Idempotency-Key. Default: a new one for each call. */
  readonly idempotencyKey?: string
}

/** The options for reading a runtime's events. */
export interface RuntimeEventsOptions extends CallOptions {
  /** The cursor after which the events begin. Default: all kept events. */
  readonly cursor?: number
  /** True if reading continues until the runtime has ended. Default false. */
  readonly follow?: boolean
  /** The types, or patterns for all types of a kind. Default: every type. */
  readonly types?: readonly string[]
}

/**
 * The time for writing or reading a runtime's memory, in milliseconds. Its size and the disk
 * decide. Node's fetch waits for an answer no longer than 300 s.
 */
const writingTimeoutMs = 280_000

/** The window of a runtime's metrics. */
export interface MetricsOptions extends CallOptions {
  /** The length of the window in seconds, at most 3600. Default 0: only the present values. */
  readonly window_secs?: number
  /** The step in seconds, a multiple of 10. Default 10. */
  readonly step_secs?: number
}

/** The part of a diff to read. */
export interface DiffOptions extends CallOptions {
  /** Only changes at this path and below it. Default `/`. */
  readonly path?: string | undefined
  /**
   * A snapshot of this runtime by id or name, or `image` for the image below the runtime. A memory
   * snapshot needs `record_files`. Default: the fork or memory snapshot that the runtime was made
   * from, if that has a record of the files, or else the image.
   */
  readonly since?: string | undefined
  /** True if the answer has a patch of its changes. Default false. */
  readonly patch?: boolean | undefined
  /** The maximum number of changes in the answer, at most 1000. Default 1000. */
  readonly limit?: number | undefined
  /** The `next_cursor` of the previous answer. Default: the first changes. */
  readonly cursor?: string | undefined
}

/** The actions on a runtime. Disposing of it (`await using`) deletes it. */
class RuntimeActions implements AsyncDisposable {
  readonly commands: Commands
  /** Code that runs with the variables of earlier code. */
  readonly code: Code
  readonly files: Files
  readonly ports: Ports
  /** The network access of the runtime. */
  readonly network: Network
  /** Git in the runtime. */
  readonly git: Git
  readonly #transport: Transport
  #data: RuntimeData

  constructor(transport: Transport, data: RuntimeData) {
    this.#transport = transport
    this.#data = data
    this.commands = new Commands(transport, data.runtime_id)
    this.code = new Code(transport, data.runtime_id)
    this.files = new Files(transport, data.runtime_id)
    this.ports = new Ports(transport, data.runtime_id, () => this.#data.ports)
    this.network = new Network(transport, data.runtime_id)
    this.git = new Git(this.commands, this.network)
  }

  /** Reads the runtime again into this object. */
  async refresh(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('getRuntime', { ...options, params: this.#params }))
  }

  /** Changes metadata or the deadline, and copies the service's answer into this object. */
  async update(change: UpdateRuntimeInput, options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('updateRuntime', { ...options, params: this.#params, json: change }))
  }

  /**
   * Pauses the runtime. Its processes, memory and files are kept, and its resources on the machine
   * are freed. A paused runtime stays paused. With `auto_resume` the next call that needs the
   * inside resumes it.
   */
  async pause(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('pauseRuntime', { ...options, ...this.#writing, twiceIsOnce: true }))
  }

  /** Resumes the runtime at the same point, under the same id. A running runtime stays as it is. */
  async resume(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('resumeRuntime', { ...options, ...this.#writing, twiceIsOnce: true }))
  }

  /**
   * Takes a snapshot, from which runtimes are made, and returns when it is durable. The runtime
   * continues. `kind` is `memory` (everything, the default if the class of isolation supports it)
   * or `filesystem`. With `record_files`, `diff` can compare with a memory snapshot. It takes time
   * in proportion to the number of files. A retry after a lost answer takes no second snapshot.
   */
  async snapshot(body: CreateSnapshotInput = {}, options: OnceOptions = {}): Promise<Snapshot> {
    const { signal, idempotencyKey = crypto.randomUUID() } = options
    return this.#transport.call('createSnapshot', { signal, ...this.#writing, json: body, idempotencyKey })
  }

  /**
   * Makes `count` (default 1) children from the present state of this runtime: its processes,
   * memory and files. Each has an identity of its own. The runtime continues. A child that could
   * not be made is an error in the result; the others exist. With `record_files`, `diff` of a child
   * compares with the fork and not with the image. It takes time in proportion to the number of
   * files.
   */
  async fork(body: NewFork = {}, options: OnceOptions = {}): Promise<Fork> {
    const { signal, idempotencyKey = crypto.randomUUID() } = options
    const data = await this.#transport.call('forkRuntime', { signal, ...this.#writing, json: body, idempotencyKey })
    if ('would_create' in data)
      throw new HoltError('invalid_request', 'fork cannot make a dry run.', { hint: 'Call dryRunFork for a dry run.' })
    return makeFork(data, (child) => makeRuntime(this.#transport, child))
  }

  /**
   * Returns the result that a fork would have, the number of children that fit, and each reason
   * against it. Makes nothing.
   */
  async dryRunFork(body: NewFork = {}, options: CallOptions = {}): Promise<ForkDryRun> {
    const json = { ...body, dry_run: true }
    const answer = await this.#transport.call('forkRuntime', {
      ...options,
      params: this.#params,
      json,
      twiceIsOnce: true,
    })
    if ('would_create' in answer) return answer
    throw new HoltError('internal', 'The service made runtimes in place of a dry run.')
  }

  /**
   * Returns the usage of the runtime now and over a window: processor, memory, disk, processes and
   * network. The call neither wakes the runtime nor keeps it from being idle.
   */
  async metrics({ window_secs, step_secs, ...options }: MetricsOptions = {}): Promise<RuntimeMetrics> {
    const query = { window_secs, step_secs }
    return this.#transport.call('runtimeMetrics', { ...options, params: this.#params, query })
  }

  /**
   * Returns the files that have changed since the runtime began, or since a snapshot, sorted by
   * path. `truncated` tells whether changes are missing; `next_cursor` reads the next ones. `patch`
   * is for `git apply` in a copy of `path`. A paused runtime is resumed.
   */
  async diff({ path, since, patch, limit, cursor, ...options }: DiffOptions = {}): Promise<FileDiff> {
    const query = { path, since, patch, limit, cursor }
    return this.#transport.call('diffFiles', { ...options, ...this.#writing, query })
  }

  /**
   * Yields the events of the runtime, in order; with `follow` until it has ended. After a broken
   * connection it reconnects and continues after the last event.
   */
  events(options: RuntimeEventsOptions = {}): AsyncGenerator<EventItem, void, undefined> {
    const { signal, cursor = 0, follow = false } = options
    const open = (after: number) =>
      this.#transport.open('readRuntimeEvents', {
        signal,
        params: this.#params,
        query: { type: queryOf(options).type, cursor: after, follow },
        headers: { accept: eventStream },
      })
    const { resumeTimeoutMs } = this.#transport.options
    return resumeItems<EventItem>({ open, cursor, resumeTimeoutMs, signal })
  }

  /** Terminates the runtime. A missing runtime is success. */
  async delete(options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteRuntime', { ...options, params: this.#params })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete()
  }

  /** Returns the API's own object. */
  toJSON(): RuntimeData {
    return this.#data
  }

  get #params() {
    return { runtime_id: this.#data.runtime_id }
  }

  get #writing() {
    return { params: this.#params, timeoutMs: writingTimeoutMs }
  }

  #take(data: RuntimeData): void {
    this.#data = data
    Object.assign(this, fieldsOf(data))
  }
}

/** Returns the handle of a runtime from the service's answer. */
export function makeRuntime(transport: Transport, data: RuntimeData): Runtime {
  return Object.assign(new RuntimeActions(transport, data), fieldsOf(data))
}

/**
 * Returns the fields of the handle. `ports` is omitted, because the handle has its actions there.
 */
function fieldsOf({ ports: _, ...fields }: RuntimeData): Omit<RuntimeData, 'ports'> {
  return fields
}
