/** The creates in progress in this process. A delete can stop them, and a reconciler skips them. */
export class StartsUnderWay {
  readonly #starts = new Map<string, { readonly controller: AbortController; readonly done: Promise<void> }>()

  /** Runs a start. Its signal is aborted when the start is stopped. */
  async run<Result>(runtimeId: string, start: (stopped: AbortSignal) => Promise<Result>): Promise<Result> {
    const controller = new AbortController()
    const { promise: done, resolve } = Promise.withResolvers<void>()
    this.#starts.set(runtimeId, { controller, done })
    try {
      return await start(controller.signal)
    } finally {
      this.#starts.delete(runtimeId)
      resolve()
    }
  }

  has(runtimeId: string): boolean {
    return this.#starts.has(runtimeId)
  }

  /** Resolves when a start has released the runtime. Resolves at once if there is none. */
  async settled(runtimeId: string): Promise<void> {
    await this.#starts.get(runtimeId)?.done
  }

  get size(): number {
    return this.#starts.size
  }

  /**
   * Stops a start and waits until it has released the runtime. Resolves at once if there is none.
   */
  async stop(runtimeId: string): Promise<void> {
    const start = this.#starts.get(runtimeId)
    if (start === undefined) return
    start.controller.abort(new Error('the runtime is deleted'))
    await start.done
  }
}
