import {
  type CreateRuntimeInput,
  type DryRun,
  type Isolation,
  isIdParam,
  type RuntimeMetrics,
  type RuntimeState,
  runtimeStates,
} from '@holt/protocol'
import { buildToWaitFor } from './errors/build-to-wait-for.ts'
import { HoltApiError, HoltError } from './errors/errors.ts'
import { type MetricsOptions, makeRuntime, type Runtime } from './runtime.ts'
import { makeBuildHandle } from './template/build-handle.ts'
import type { WaitForBuildOptions } from './template/wait-for-build.ts'
import { type Paginated, paginate } from './transport/pages.ts'
import { backoffMs, sleep } from './transport/retry.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** The filters of a list of runtimes. Several filters mean AND. */
export interface RuntimeFilter {
  /** The ids, at most 100. Default: all runtimes. */
  readonly runtime_id?: readonly string[] | undefined
  /** The state, or several of them. Default: all, with the ended ones of 7 days. */
  readonly state?: RuntimeState | readonly RuntimeState[] | undefined
  readonly template?: string | undefined
  readonly name?: string | undefined
  readonly isolation?: Isolation | undefined
  /** The id of the runtime that they were forked from. */
  readonly parent?: string | undefined
  /** A stored network policy, by name or id. */
  readonly network_policy?: string | undefined
  /** A secret, by name or id. */
  readonly secret?: string | undefined
  /** The snapshot that they were created from, by name or id. */
  readonly snapshot?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** Items per page, 1 to 100. */
  readonly limit?: number
}

/** The runtimes and the window of a list of metrics. */
export interface ListMetricsOptions extends MetricsOptions {
  /** The ids of the runtimes, at most 100. Default: all that run. */
  readonly runtime_id?: readonly string[] | undefined
  /** Items per page, 1 to 100. */
  readonly limit?: number
}

/** The options for creating a runtime. */
export interface CreateRuntimeOptions extends CallOptions {
  readonly idempotencyKey?: string
  /** The options for waiting until a template is built. */
  readonly building?: Omit<WaitForBuildOptions, 'signal'>
}

/** The body of a create. */
export type NewRuntime = Omit<CreateRuntimeInput, 'dry_run'>

/**
 * The maximum number of builds that one create waits for. A template is ready after its build,
 * unless it is rebuilt all the time.
 */
const mostBuilds = 3

/** The runtimes of a service. */
export class Runtimes {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates a runtime and returns when it runs. If its template is being built, as on the first use
   * of an agent template, it waits for the build. A failed build is a `BuildFailed`. Each call
   * carries an Idempotency-Key, so a retry after a lost answer makes no second runtime.
   */
  async create(body: NewRuntime = {}, options: CreateRuntimeOptions = {}): Promise<Runtime> {
    const { signal, idempotencyKey = crypto.randomUUID(), building } = options
    for (let builds = 0; ; builds += 1) {
      try {
        const data = await this.#transport.call('createRuntime', { signal, json: body, idempotencyKey })
        if ('would_create' in data)
          throw new HoltError('invalid_request', 'create makes a runtime.', { hint: 'Call dryRun for a dry run.' })
        return makeRuntime(this.#transport, data)
      } catch (error) {
        const buildId = buildToWaitFor(error)
        if (buildId === null || builds >= mostBuilds) throw error
        const build = await this.#transport.call('getBuild', { signal, params: { build_id: buildId } })
        await makeBuildHandle(this.#transport, build).wait({ ...building, ...(signal === undefined ? {} : { signal }) })
      }
    }
  }

  /**
   * Returns the result that a create of `body` would have, and each reason why the service would
   * refuse it. Makes nothing. A create that would be refused is a result (`would_create` is false),
   * not an error. A malformed body is an error, as in a create.
   */
  async dryRun(body: NewRuntime = {}, options: CallOptions = {}): Promise<DryRun> {
    const answer = await this.#transport.call('createRuntime', {
      ...options,
      json: { ...body, dry_run: true },
      twiceIsOnce: true,
    })
    if ('would_create' in answer) return answer
    throw new HoltError('internal', 'The service made a runtime in place of a dry run.')
  }

  /** Lists runtimes, newest first. Ended runtimes are included for 7 days. */
  list(filter: RuntimeFilter = {}, options: CallOptions = {}): Paginated<Runtime> {
    const { metadata = {}, state, runtime_id, ...rest } = filter
    const states = state === undefined ? undefined : [state].flat().join(',')
    const query = { ...rest, runtime_id: runtime_id?.join(','), state: states === '' ? undefined : states }
    const labels = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]))
    return paginate(async (cursor) => {
      const page = await this.#transport.call('listRuntimes', { ...options, query: { ...query, ...labels, cursor } })
      return { data: page.data.map((data) => makeRuntime(this.#transport, data)), next_cursor: page.next_cursor }
    })
  }

  /**
   * Lists the usage of runtimes, newest first: of those that run, or of those with the ids. The
   * calls neither wake a runtime nor keep it from being idle. An ended runtime has no values.
   */
  metrics(options: ListMetricsOptions = {}): Paginated<RuntimeMetrics> {
    const { signal, runtime_id, window_secs, step_secs, limit } = options
    const query = { window_secs, step_secs, limit, runtime_id: runtime_id?.join(',') }
    return paginate((cursor) => this.#transport.call('listRuntimeMetrics', { signal, query: { ...query, cursor } }))
  }

  /** Gets a runtime by id, or by the name of a runtime that has not ended. */
  async get(runtime: string, options: CallOptions = {}): Promise<Runtime> {
    const named = isIdParam('runtime_id', runtime) ? null : await this.#named(runtime, options)
    if (named !== null) return named
    const params = { runtime_id: runtime }
    return makeRuntime(this.#transport, await this.#transport.call('getRuntime', { ...options, params }))
  }

  /**
   * Gets the runtime with a name, or creates it. Concurrent callers get the same runtime. An
   * existing runtime is returned unchanged: with its own settings, and paused if it is paused. The
   * call waits for a runtime that starts.
   */
  async getOrCreate(
    body: NewRuntime & { readonly name: string },
    options: Omit<CreateRuntimeOptions, 'idempotencyKey'> = {},
  ): Promise<Runtime> {
    const { signal } = options
    const beganMs = performance.now()
    for (let tries = 1; ; tries += 1) {
      const named = await this.#named(body.name, { signal })
      if (named !== null && !passingStates.includes(named.state)) return named
      try {
        if (named?.state !== 'starting') return await this.create(body, options)
      } catch (error) {
        if (!(error instanceof HoltApiError && error.code === 'name_taken')) throw error
      }
      if (performance.now() - beganMs > this.#transport.options.timeoutMs)
        throw new HoltError('timeout', `The runtime named ${body.name} has neither started nor ended`)
      await sleep(backoffMs(tries), signal)
    }
  }

  /**
   * Returns the runtime with a name that has not ended, or else one that has failed; null if there
   * is none.
   */
  async #named(name: string, options: CallOptions): Promise<Runtime | null> {
    let failed: Runtime | null = null
    for await (const runtime of this.list({ name, state: nameableStates, limit: 100 }, options)) {
      if (runtime.state !== 'failed') return runtime
      failed ??= runtime
    }
    return failed
  }
}

/** The states in which a runtime can be found by its name. The name of a terminated one is free. */
const nameableStates = runtimeStates.filter((state) => state !== 'terminated')

/** The states that a runtime leaves by itself, or in which its name is free. */
const passingStates: readonly RuntimeState[] = ['starting', 'terminating', 'failed']
