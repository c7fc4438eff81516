/**
 * Tells a source that sends nothing any more from a reader that is slow: only the time that is
 * spent waiting for the source counts. What waits for it ends with `signal`, which the source has
 * to obey too; `watched` rejects with its reason whether the source does or not.
 */
export class StallWatch {
  readonly #timeoutMs: number
  readonly #makeError: () => Error
  readonly #stop = new AbortController()

  constructor(timeoutMs: number, makeError: () => Error) {
    this.#timeoutMs = timeoutMs
    this.#makeError = makeError
  }

  /** Aborted when the source has stalled; the reason is the error that was given. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** What the source sends, each piece waited for. */
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
      // A source that has stalled is not waited for: the signal ends it.
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
