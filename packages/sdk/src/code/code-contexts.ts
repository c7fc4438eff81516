import type { CodeContext, CreateCodeContextInput } from '@holt/protocol'
import { type Paginated, paginate } from '../transport/pages.ts'
import type { CallOptions, Transport } from '../transport/transport.ts'

/** The time for a process of a language to start, in milliseconds. */
const startTimeoutMs = 150_000

/** Returns the id of a context that is given as an object or an id. */
export function contextIdOf(context: CodeContext | string): string {
  return typeof context === 'string' ? context : context.context_id
}

/** The code contexts of one runtime. Each is a process with variables of its own. */
export class CodeContexts {
  readonly #transport: Transport
  readonly #runtimeId: string
  constructor(transport: Transport, runtimeId: string) {
    this.#transport = transport
    this.#runtimeId = runtimeId
  }

  /** Creates a context, of Python unless `language` says otherwise. */
  create(options: CreateCodeContextInput & CallOptions = {}): Promise<CodeContext> {
    const { signal, ...json } = options
    return this.#transport.call('createCodeContext', {
      signal,
      params: { runtime_id: this.#runtimeId },
      json,
      idempotencyKey: crypto.randomUUID(),
      timeoutMs: startTimeoutMs,
    })
  }

  /** Lists contexts, newest first. A default context is among them after its first run. */
  list(filter: { readonly limit?: number } = {}, options: CallOptions = {}): Paginated<CodeContext> {
    const params = { runtime_id: this.#runtimeId }
    return paginate((cursor) =>
      this.#transport.call('listCodeContexts', { ...options, params, query: { ...filter, cursor } }),
    )
  }

  /** Gets a context. */
  get(context: CodeContext | string, options: CallOptions = {}): Promise<CodeContext> {
    return this.#transport.call('getCodeContext', { ...options, params: this.#params(context) })
  }

  /** Interrupts the code that runs in a context. Its variables stay. */
  interrupt(context: CodeContext | string, options: CallOptions = {}): Promise<CodeContext> {
    return this.#transport.call('interruptCodeContext', {
      ...options,
      params: this.#params(context),
      twiceIsOnce: true,
    })
  }

  /** Restarts a context. It keeps its id, and loses its variables. */
  restart(context: CodeContext | string, options: CallOptions = {}): Promise<CodeContext> {
    return this.#transport.call('restartCodeContext', {
      ...options,
      params: this.#params(context),
      timeoutMs: startTimeoutMs,
    })
  }

  /** Deletes a context, and ends its code. */
  async delete(context: CodeContext | string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteCodeContext', { ...options, params: this.#params(context) })
  }

  #params(context: CodeContext | string) {
    return { runtime_id: this.#runtimeId, context_id: contextIdOf(context) }
  }
}
