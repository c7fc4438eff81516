import { type Holt, HoltError, type NewRuntime, type Runtime } from '@holt/sdk'
import type { BoundRuntime } from './session/session.ts'

/** The longest time to delete the runtime of a session that ends, in milliseconds. */
const deleteTimeoutMs = 10_000

/**
 * The lifetime that a session gives its runtime and renews, in seconds. A client that was killed
 * leaves the runtime for so long, and a machine may sleep for most of it.
 */
const defaultLeaseSecs = 3600

/** The longest time of one renewal, in milliseconds. The next one tries again. */
const renewTimeoutMs = 30_000

/**
 * A runtime of a session's own. The first use creates it, and the end of the session deletes it.
 * The session renews its deadline, which terminates it if the session was killed. A deadline that
 * the body names is not renewed.
 */
export class OwnRuntime implements BoundRuntime, AsyncDisposable {
  readonly #holt: Holt
  readonly #body: NewRuntime
  readonly #leaseSecs: number
  #made: Promise<Runtime> | null = null
  #renewals: NodeJS.Timeout | null = null
  #isOver = false

  constructor(holt: Holt, body: NewRuntime, leaseSecs = defaultLeaseSecs) {
    this.#holt = holt
    this.#body = body
    this.#leaseSecs = leaseSecs
  }

  async get(signal: AbortSignal): Promise<Runtime> {
    // Made without the signal of this call: other calls may wait for the same runtime.
    this.#made ??= this.#make()
    const { runtime_id } = await this.#made
    return this.#holt.runtimes.get(runtime_id, { signal })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    if (this.#renewals !== null) clearInterval(this.#renewals)
    const runtime = await this.#made?.catch(() => null)
    await runtime?.delete({ signal: AbortSignal.timeout(deleteTimeoutMs) })
  }

  async #make(): Promise<Runtime> {
    try {
      if (this.#isOver) throw new HoltError('runtime_terminated', 'The session is over.')
      const lease = this.#body.timeout_secs === undefined ? { timeout_secs: this.#leaseSecs } : null
      const runtime = await this.#holt.runtimes.create({ on_timeout: 'terminate', ...this.#body, ...lease })
      if (lease !== null && !this.#isOver) this.#renew(runtime, lease)
      return runtime
    } catch (error) {
      // The next call tries again.
      this.#made = null
      throw error
    }
  }

  #renew(runtime: Runtime, lease: { readonly timeout_secs: number }): void {
    const renew = () => {
      // The runtime may be gone, and the next call says so. Otherwise the next renewal tries again.
      runtime.update(lease, { signal: AbortSignal.timeout(renewTimeoutMs) }).catch(() => undefined)
    }
    this.#renewals = setInterval(renew, (this.#leaseSecs * 1000) / 3).unref()
  }
}

/** Returns the binding of a session to an existing runtime. */
export function existingRuntime(holt: Holt, runtimeId: string): BoundRuntime {
  return { get: (signal) => holt.runtimes.get(runtimeId, { signal }) }
}
