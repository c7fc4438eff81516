/** A participant in shared work. */
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
 * Work under a key that runs once for all participants at the same time. It is aborted only after
 * the last participant has left.
 */
export class SharedWork<Result> {
  readonly #running = new Map<string, Running<Result>>()

  /**
   * Joins the work under a key, or begins it. Rejects with the signal's reason as soon as that is
   * aborted. Other participants continue.
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
    // The participants get a failure. After the last one has left, it is ignored.
    promise.catch(() => undefined)
    const running = { promise, participants, controller }
    this.#running.set(key, running)
    return running
  }

  /** Aborts the work and waits until it has cleaned up. */
  async #end(key: string, running: Running<Result>): Promise<void> {
    if (this.#running.get(key) === running) this.#running.delete(key)
    running.controller.abort(new Error('no caller waits for the result'))
    // No participant is left, so the result is ignored.
    await running.promise.catch(() => undefined)
  }
}
