import type { Observation, Observed, RuntimeId } from '@holt/engine'

/**
 * Informs all observers. A newer observation replaces an unread one of the same runtime. So a slow
 * reader costs no more than the number of runtimes.
 */
export class Observers {
  readonly #queues = new Set<{ readonly pending: Map<RuntimeId, Observation>; wake: () => void }>()

  /** Announces the present state of a runtime. */
  tellPresent(observed: Observed): void {
    this.#tell(observed.id, { type: 'present', observed })
  }

  /** Announces that a runtime is gone. */
  tellAbsent(id: RuntimeId): void {
    this.#tell(id, { type: 'absent', id })
  }

  /**
   * Yields all runtimes that `existing` returns, then `listed`, then changes, until the signal ends
   * it. No change between the listing and the first change is lost.
   */
  async *observe(existing: () => readonly Observed[], signal: AbortSignal): AsyncGenerator<Observation> {
    const queue = { pending: new Map<RuntimeId, Observation>(), wake: () => {} }
    const onAbort = () => queue.wake()
    this.#queues.add(queue)
    signal.addEventListener('abort', onAbort)
    try {
      const present = existing()
      for (const observed of present) yield { type: 'present', observed }
      yield { type: 'listed' }
      while (!signal.aborted) {
        const [first] = queue.pending
        if (first === undefined) {
          await new Promise<void>((resolve) => {
            queue.wake = resolve
          })
          continue
        }
        queue.pending.delete(first[0])
        yield first[1]
      }
    } finally {
      this.#queues.delete(queue)
      signal.removeEventListener('abort', onAbort)
    }
  }

  #tell(id: RuntimeId, observation: Observation): void {
    for (const queue of this.#queues) {
      queue.pending.delete(id)
      queue.pending.set(id, observation)
      queue.wake()
    }
  }
}
