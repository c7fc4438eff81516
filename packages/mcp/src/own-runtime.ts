import { type Holt, HoltError, type NewRuntime, type Runtime } from '@holt/sdk'
import type { BoundRuntime } from './session/session.ts'

/** The longest time to delete the runtime of a session that ends, in milliseconds. */
const deleteTimeoutMs = 10_000

/**
 * A runtime of a session's own. The first use creates it, and the end of the session deletes it.
 * Its deadline terminates it, in case the session ends without being able to.
 */
export class OwnRuntime implements BoundRuntime, AsyncDisposable {
  readonly #holt: Holt
  readonly #body: NewRuntime
  #made: Promise<Runtime> | null = null
  #isOver = false

  constructor(holt: Holt, body: NewRuntime) {
    this.#holt = holt
    this.#body = body
  }

  async get(signal: AbortSignal): Promise<Runtime> {
    // Made without the signal of this call: other calls may wait for the same runtime.
    this.#made ??= this.#make()
    const { runtime_id } = await this.#made
    return this.#holt.runtimes.get(runtime_id, { signal })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    const runtime = await this.#made?.catch(() => null)
    await runtime?.delete({ signal: AbortSignal.timeout(deleteTimeoutMs) })
  }

  async #make(): Promise<Runtime> {
    try {
      if (this.#isOver) throw new HoltError('runtime_terminated', 'The session is over.')
      return await this.#holt.runtimes.create({ on_timeout: 'terminate', ...this.#body })
    } catch (error) {
      // The next call tries again.
      this.#made = null
      throw error
    }
  }
}

/** Returns the binding of a session to an existing runtime. */
export function existingRuntime(holt: Holt, runtimeId: string): BoundRuntime {
  return { get: (signal) => holt.runtimes.get(runtimeId, { signal }) }
}
