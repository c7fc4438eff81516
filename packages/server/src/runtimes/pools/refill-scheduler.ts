/**
 * The longest delay of a refill during creates, in milliseconds. Without a delay, a restore would
 * slow down the create that caused it. A longer delay would leave a pool empty under steady load.
 */
const holdMs = 250

/**
 * Decides when pools are refilled: at once without a create in progress, else a quarter of a second
 * after the first request. A burst of creates is not slowed down, and no load starves the pools.
 */
export class RefillScheduler {
  readonly #refill: (busy: boolean) => void
  #creates = 0
  #requested = false
  #timer: NodeJS.Timeout | null = null

  /** `refill` starts refills. Its parameter is true while creates are in progress. */
  constructor(refill: (busy: boolean) => void) {
    this.#refill = refill
  }

  /** The creates in progress. */
  get creates(): number {
    return this.#creates
  }

  /** Requests a refill. */
  request(): void {
    this.#requested = true
    if (this.#creates === 0) this.#pass()
    else this.#timer ??= setTimeout(() => this.#pass(), holdMs).unref()
  }

  /** Marks a create as in progress until the result is disposed of. */
  creating(): Disposable {
    this.#creates += 1
    return {
      [Symbol.dispose]: () => {
        this.#creates -= 1
        if (this.#creates === 0 && this.#requested) this.#pass()
      },
    }
  }

  /** Stops refills until the next request. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#requested = false
  }

  /** Starts one refill beside running creates. The others start after the creates. */
  #pass(): void {
    this.close()
    const busy = this.#creates > 0
    this.#requested = busy
    this.#refill(busy)
  }
}
