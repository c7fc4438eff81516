import type {
  CreateSnapshotInput,
  EventItem,
  ForkDryRun,
  ForkRuntimeInput,
  Runtime as RuntimeData,
  RuntimeMetrics,
  Snapshot,
  UpdateRuntimeInput,
} from '@holt/protocol'
import { Commands } from './commands.ts'
import { HoltError } from './errors.ts'
import { queryOf } from './events.ts'
import { Files } from './files.ts'
import { type Fork, makeFork } from './fork.ts'
import { eventStream, resumeItems } from './item-stream.ts'
import { Network } from './network.ts'
import { Ports } from './ports.ts'
import type { CallOptions, Transport } from './transport.ts'

/**
 * A runtime: what the service said of it last, in the API's own words, and what can be done with
 * it. Its public ports are `ports.public`.
 */
export type Runtime = Readonly<Omit<RuntimeData, 'ports'>> & RuntimeActions

/** What a fork says of its children. */
export type NewFork = Omit<ForkRuntimeInput, 'dry_run'>

/** What makes something of a runtime once, however often its answer is lost. */
export interface OnceOptions extends CallOptions {
  /** Default: a new one for each call. */
  readonly idempotencyKey?: string
}

/** From where a runtime's events are read, which of them, and whether to stay. */
export interface RuntimeEventsOptions extends CallOptions {
  /** Begin after the event with this cursor. Default: everything that is kept. */
  readonly cursor?: number
  /** Stay until the runtime has ended. Default false. */
  readonly follow?: boolean
  /** Types, or all of a kind. Default: every type. */
  readonly types?: readonly string[]
}

/**
 * How long writing a runtime's memory down, or reading it, may take. Its size and the disk decide;
 * the fetch of Node waits for an answer no longer than 300 s.
 */
const writingTimeoutMs = 280_000

/** How far back a runtime's metrics are asked for. */
export interface MetricsOptions extends CallOptions {
  /** Default 0: only what is now. At most 3600. */
  readonly window_secs?: number
  /** A multiple of 10. Default 10. */
  readonly step_secs?: number
}

/** What can be done with a runtime. Disposing of it (`await using`) deletes it. */
class RuntimeActions implements AsyncDisposable {
  readonly commands: Commands
  readonly files: Files
  readonly ports: Ports
  /** What it may reach. */
  readonly network: Network
  readonly #transport: Transport
  #data: RuntimeData

  constructor(transport: Transport, data: RuntimeData) {
    this.#transport = transport
    this.#data = data
    this.commands = new Commands(transport, data.runtime_id)
    this.files = new Files(transport, data.runtime_id)
    this.ports = new Ports(transport, data.runtime_id, () => this.#data.ports)
    this.network = new Network(transport, data.runtime_id)
  }

  /** Reads the runtime again into this object. */
  async refresh(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('getRuntime', { ...options, params: this.#params }))
  }

  /** Changes metadata or the deadline, and takes over what the service answers. */
  async update(change: UpdateRuntimeInput, options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('updateRuntime', { ...options, params: this.#params, json: change }))
  }

  /**
   * Pauses the runtime: its processes, memory and files are kept, what it has of the machine is
   * given back. One that is paused stays so. With `auto_resume` the next call that needs what is
   * inside resumes it.
   */
  async pause(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('pauseRuntime', { ...options, ...this.#writing, twiceIsOnce: true }))
  }

  /** Resumes the runtime where it stood, under the same id. One that runs stays so. */
  async resume(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('resumeRuntime', { ...options, ...this.#writing, twiceIsOnce: true }))
  }

  /**
   * Takes a snapshot, from which runtimes are made, and answers when it is durable. The runtime
   * goes on by itself. `kind` is `memory` (everything, the default where the class of isolation has
   * it) or `filesystem`. A lost answer is asked for again without a second snapshot.
   */
  async snapshot(body: CreateSnapshotInput = {}, options: OnceOptions = {}): Promise<Snapshot> {
    const { signal, idempotencyKey = crypto.randomUUID() } = options
    return this.#transport.call('createSnapshot', { signal, ...this.#writing, json: body, idempotencyKey })
  }

  /**
   * Makes `count` (default 1) children that begin where this runtime stands, with its processes,
   * memory and files, each under an identity of its own. The runtime goes on by itself. A child
   * that could not be made is an error of the answer, and the others are there.
   */
  async fork(body: NewFork = {}, options: OnceOptions = {}): Promise<Fork> {
    const { signal, idempotencyKey = crypto.randomUUID() } = options
    const data = await this.#transport.call('forkRuntime', { signal, ...this.#writing, json: body, idempotencyKey })
    if ('would_create' in data)
      throw new HoltError('invalid_request', 'fork makes runtimes.', { hint: 'Call dryRunFork for a dry run.' })
    return makeFork(data, (child) => makeRuntime(this.#transport, child))
  }

  /**
   * Returns what a fork would make, how many of the children there is room for, and each reason
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
   * What the runtime takes: processor, memory, disk, processes and network, now and for a time
   * back. It is neither woken by that nor kept from being idle.
   */
  async metrics({ window_secs, step_secs, ...options }: MetricsOptions = {}): Promise<RuntimeMetrics> {
    const query = { window_secs, step_secs }
    return this.#transport.call('runtimeMetrics', { ...options, params: this.#params, query })
  }

  /**
   * Yields what happened to the runtime, in order; with `follow` until it has ended. A broken
   * connection is made again after the last event.
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

  /** Terminates the runtime; one that is gone already is success. */
  async delete(options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteRuntime', { ...options, params: this.#params })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete()
  }

  /** The API's own object. */
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

/** Makes the handle of a runtime from what the service said. */
export function makeRuntime(transport: Transport, data: RuntimeData): Runtime {
  return Object.assign(new RuntimeActions(transport, data), fieldsOf(data))
}

/** What the handle has as fields: `ports` is what can be done with them. */
function fieldsOf({ ports: _, ...fields }: RuntimeData): Omit<RuntimeData, 'ports'> {
  return fields
}
