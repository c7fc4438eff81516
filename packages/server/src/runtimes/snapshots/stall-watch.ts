/**
 * Detects a source that has stalled, as opposed to a slow reader: only waits for the source count.
 * `signal` aborts the operations that depend on the source, and the source must obey it too.
 * `watched` rejects with the signal's reason even if the source ignores it.
 */
export class StallWatch {
  readonly #timeoutMs: number
  readonly #makeError: () => Error
  readonly #stop = new AbortController()

  constructor(timeoutMs: number, makeError: () => Error) {
    this.#timeoutMs = timeoutMs
    this.#makeError = makeError
  }

  /** Aborted when the source has stalled. The reason is the error from `makeError`. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Yields the items of the source, with a time limit for each. */
  async *watched<Item>(source: AsyncIterable<Item>): AsyncGenerator<Item> {
    const items = source[Symbol.asyncIterator]()
    let open = true
    try {
      for (;;) {
        const next = await this.#waitFor(() => items.next())
        if (next.done === true) {
          open = false
          return
        }
        yield next.value
      }
    } finally {
      // A stalled source is not awaited, because the signal ends it.
      if (open && !this.signal.aborted) await items.return?.()
    }
  }

  async #waitFor<Result>(wait: () => Promise<Result>): Promise<Result> {
    const stalled = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      const error = this.#makeError()
      this.#stop.abort(error)
      stalled.reject(error)
    }, this.#timeoutMs)
    try {
      return await Promise.race([wait(), stalled.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
