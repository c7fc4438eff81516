import type { RouteName } from '@holt/protocol'
import { type Holt, HoltError, type Runtime, type Scope, scopeOfRoute } from '@holt/sdk'

/** The runtime of a session that is bound to one. */
export interface BoundRuntime {
  /** Returns the runtime. Creates it if it is the session's own and this is its first use. */
  get(signal: AbortSignal): Promise<Runtime>
}

/** The parts of a session. */
export interface SessionOptions {
  /** The client of the API, with the key of the session. */
  readonly holt: Holt
  /** The scopes of that key. */
  readonly scopes: ReadonlySet<Scope>
  /** The one runtime of the session. Null: its tools take the name of a runtime. */
  readonly bound: BoundRuntime | null
  /** The address at which the client reaches the service. Default: that of `holt`. */
  readonly address?: string
}

/** The reach of one client: the service with the rights of its key, or one runtime of it. */
export class Session {
  readonly holt: Holt
  readonly address: string
  readonly #scopes: ReadonlySet<Scope>
  readonly #bound: BoundRuntime | null

  constructor({ holt, scopes, bound, address = holt.url }: SessionOptions) {
    this.holt = holt
    this.address = address
    this.#scopes = scopes
    this.#bound = bound
  }

  /** True if the session is bound to one runtime. */
  get isBound(): boolean {
    return this.#bound !== null
  }

  /** Returns true if the key may call all of some routes. */
  allows(names: readonly RouteName[]): boolean {
    return names.every((name) => {
      const scope = scopeOfRoute(name)
      if (scope === null || scope === 'any') return true
      return this.#scopes.has(scope) || (this.#scopes.has('admin') && scope !== 'operator')
    })
  }

  /** Returns the runtime of a call: the session's, or the named one of another session. */
  async runtime(name: string | undefined, signal: AbortSignal): Promise<Runtime> {
    if (this.#bound === null) {
      if (name === undefined) throw new HoltError('invalid_request', 'The call names no runtime.')
      return this.holt.runtimes.get(name, { signal })
    }
    const runtime = await this.#bound.get(signal)
    if (name === undefined || name === runtime.runtime_id || name === runtime.name) return runtime
    throw new HoltError('runtime_not_found', `This session has the runtime ${runtime.runtime_id} and no other.`, {
      hint: 'Name that runtime.',
    })
  }
}
