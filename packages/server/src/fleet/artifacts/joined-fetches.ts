import { unlessAborted } from '../../foundation/async/unless-aborted.ts'

/** A fetch in progress. */
interface Fetch {
  readonly result: Promise<void>
  readonly abort: AbortController
  /** The callers that wait for it. */
  waiting: number
}

/**
 * Runs one fetch for each key at a time, which later callers join. A caller that leaves ends the
 * fetch only if nobody else waits for it.
 */
export class JoinedFetches {
  readonly #fetches = new Map<string, Fetch>()

  /** Begins or joins a fetch. Rejects with the signal's reason if the caller leaves. */
  async run(key: string, begin: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const fetch = this.#fetches.get(key) ?? this.#begin(key, begin)
    fetch.waiting += 1
    try {
      await unlessAborted(fetch.result, signal)
    } finally {
      fetch.waiting -= 1
      if (fetch.waiting === 0) {
        this.#forget(key, fetch)
        fetch.abort.abort(signal.reason)
      }
    }
  }

  #begin(key: string, begin: (signal: AbortSignal) => Promise<void>): Fetch {
    const abort = new AbortController()
    const fetch: Fetch = { result: begin(abort.signal), abort, waiting: 0 }
    this.#fetches.set(key, fetch)
    // A fetch that everybody has left rejects with nobody to see it.
    fetch.result.catch(() => {}).finally(() => this.#forget(key, fetch))
    return fetch
  }

  #forget(key: string, fetch: Fetch): void {
    if (this.#fetches.get(key) === fetch) this.#fetches.delete(key)
  }
}
