import type { CreateRuntimeInput, Isolation, RuntimeState } from '@holt/protocol'
import { type Paginated, paginate } from './pages.ts'
import { makeRuntime, type Runtime } from './runtime.ts'
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

/** The runtimes of a service. */
export class Runtimes {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates a runtime and answers when it runs. Each call carries an Idempotency-Key, so a lost answer is asked for again
   * without a second runtime.
   */
  async create(
    body: CreateRuntimeInput = {},
    options: CallOptions & { readonly idempotencyKey?: string } = {},
  ): Promise<Runtime> {
    const { signal, idempotencyKey = crypto.randomUUID() } = options
    return makeRuntime(
      this.#transport,
      await this.#transport.call('createRuntime', { signal, json: body, idempotencyKey }),
    )
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

  /** Gets a runtime by its id. */
  async get(runtimeId: string, options: CallOptions = {}): Promise<Runtime> {
    return makeRuntime(
      this.#transport,
      await this.#transport.call('getRuntime', { ...options, params: { runtime_id: runtimeId } }),
    )
  }
}
