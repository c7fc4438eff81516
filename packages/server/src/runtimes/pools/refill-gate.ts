/**
 * How long refilling stands back for creates under way. Without it a create that is served in
 * milliseconds would have the restore that it causes beside it, and be slower for that; more would
 * leave a pool empty under a steady load.
 */
const holdMs = 250

/**
 * When a pool may be refilled: at once while no create is under way, else a quarter of a second
 * after it was wished for first. So a burst of creates has the host for itself, and no load starves
 * the pools.
 */
export class RefillGate {
  readonly #refill: (busy: boolean) => void
  #creates = 0
  #wished = false
  #timer: NodeJS.Timeout | null = null

  /** `refill` begins what may be begun; `busy` says that creates are under way. */
  constructor(refill: (busy: boolean) => void) {
    this.#refill = refill
  }

  /** There is something to refill. */
  wish(): void {
    this.#wished = true
    if (this.#creates === 0) this.#pass()
    else this.#timer ??= setTimeout(() => this.#pass(), holdMs).unref()
  }

  /** A create is under way until this is disposed. */
  holdBack(): Disposable {
    this.#creates += 1
    return {
      [Symbol.dispose]: () => {
        this.#creates -= 1
        if (this.#creates === 0 && this.#wished) this.#pass()
      },
    }
  }

  /** Nothing is refilled any more, unless it is wished for. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#wished = false
  }

  /** Starts one refill beside running creates. The others start after the creates. */
  #pass(): void {
    this.close()
    const busy = this.#creates > 0
    this.#wished = busy
    this.#refill(busy)
  }
}
