/** Who takes part in a piece of work. */
interface Participant {
  readonly onProgress: (message: string) => void
  readonly signal: AbortSignal
}

interface Running<Result> {
  readonly promise: Promise<Result>
  readonly participants: Set<Participant>
  readonly controller: AbortController
}

/**
 * Work under a key that is done once for all who want it at the same time. It ends early only when
 * nobody wants it any more.
 */
export class SharedWork<Result> {
  readonly #running = new Map<string, Running<Result>>()

  /**
   * Takes part in the work under a key, or begins it. Rejects with the signal's reason as soon as
   * that is aborted; others go on.
   */
  async share(key: string, participant: Participant, work: (shared: Participant) => Promise<Result>): Promise<Result> {
    participant.signal.throwIfAborted()
    const running = this.#running.get(key) ?? this.#begin(key, work)
    const { promise: left, reject } = Promise.withResolvers<never>()
    const leave = () => reject(participant.signal.reason)
    running.participants.add(participant)
    participant.signal.addEventListener('abort', leave, { once: true })
    try {
      return await Promise.race([running.promise, left])
    } finally {
      participant.signal.removeEventListener('abort', leave)
      running.participants.delete(participant)
      if (running.participants.size === 0) await this.#end(key, running)
    }
  }

  #begin(key: string, work: (shared: Participant) => Promise<Result>): Running<Result> {
    const controller = new AbortController()
    const participants = new Set<Participant>()
    const onProgress = (message: string) => {
      for (const participant of participants) participant.onProgress(message)
    }
    const promise = work({ onProgress, signal: controller.signal })
    // Whoever takes part hears of it; after the last one has left, nobody does.
    promise.catch(() => undefined)
    const running = { promise, participants, controller }
    this.#running.set(key, running)
    return running
  }

  /** Ends the work and waits until it has cleaned up behind itself. */
  async #end(key: string, running: Running<Result>): Promise<void> {
    if (this.#running.get(key) === running) this.#running.delete(key)
    running.controller.abort(new Error('nobody wants it any more'))
    // How it ends is no longer anybody's matter.
    await running.promise.catch(() => undefined)
  }
}
