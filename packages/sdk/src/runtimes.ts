import { type CreateRuntimeInput, type DryRun, type Isolation, isIdParam, type RuntimeState } from '@holt/protocol'
import { HoltApiError, HoltError } from './errors.ts'
import { type Paginated, paginate } from './pages.ts'
import { backoffMs, sleep } from './retry.ts'
import { makeRuntime, type Runtime } from './runtime.ts'
import { makeBuildHandle } from './template/build-handle.ts'
import { buildToWaitFor } from './template/build-to-wait-for.ts'
import type { WaitForBuildOptions } from './template/wait-for-build.ts'
import type { CallOptions, Transport } from './transport.ts'

/** Which runtimes a list has. Several filters mean AND. */
export interface RuntimeFilter {
  readonly state?: RuntimeState
  readonly template?: string
  readonly name?: string
  readonly isolation?: Isolation
  readonly metadata?: Readonly<Record<string, string>>
  /** Items per page, 1 to 100. */
  readonly limit?: number
}

/** How a runtime is created. */
export interface CreateRuntimeOptions extends CallOptions {
  readonly idempotencyKey?: string
  /** How the build of a template that has none yet is waited for, and who hears of it. */
  readonly building?: Omit<WaitForBuildOptions, 'signal'>
}

/** What a create says of its runtime. */
export type NewRuntime = Omit<CreateRuntimeInput, 'dry_run'>

/**
 * A template is ready after its build; one that is built anew all the time is not waited for for
 * ever.
 */
const mostBuilds = 3

/** The runtimes of a service. */
export class Runtimes {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates a runtime and answers when it runs. Where its template is being built, which is so when
   * an agent template is asked for the first time, it waits for the build; one that fails is a
   * `BuildFailed`. Each call carries an Idempotency-Key, so a lost answer is asked for again
   * without a second runtime.
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
   * Returns what a create of `body` would make, and each reason why the service would refuse it.
   * Makes nothing. A create that would be refused is an answer (`would_create` is false) and no
   * error; a malformed body is an error, as in a create.
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

  /** Lists runtimes, newest first; ended ones are among them for 7 days. */
  list(filter: RuntimeFilter = {}, options: CallOptions = {}): Paginated<Runtime> {
    const { metadata = {}, ...query } = filter
    const labels = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]))
    return paginate(async (cursor) => {
      const page = await this.#transport.call('listRuntimes', { ...options, query: { ...query, ...labels, cursor } })
      return { data: page.data.map((data) => makeRuntime(this.#transport, data)), next_cursor: page.next_cursor }
    })
  }

  /** Gets a runtime by id, or by name: the one with that name that has not ended. */
  async get(runtime: string, options: CallOptions = {}): Promise<Runtime> {
    const named = isIdParam('runtime_id', runtime) ? null : await this.#named(runtime, options)
    if (named !== null) return named
    const params = { runtime_id: runtime }
    return makeRuntime(this.#transport, await this.#transport.call('getRuntime', { ...options, params }))
  }

  /**
   * Gets the runtime with a name, or creates it. Callers that ask at the same time get the same
   * runtime. One that is there is answered as it is: with its own settings, and paused where it is
   * paused; one that starts is waited for.
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
   * The runtime with a name that has not ended, or else one that has failed; null where there is
   * none.
   */
  async #named(name: string, options: CallOptions): Promise<Runtime | null> {
    let failed: Runtime | null = null
    for await (const runtime of this.list({ name, limit: 100 }, options)) {
      if (runtime.state === 'terminated') continue
      if (runtime.state !== 'failed') return runtime
      failed ??= runtime
    }
    return failed
  }
}

/** States that a runtime leaves by itself, or in which its name is free. */
const passingStates: readonly RuntimeState[] = ['starting', 'terminating', 'failed']
