/** Aborts a signal after a time. The time in which it is stopped does not count. */
export class RunningTimeout implements Disposable {
  readonly #controller = new AbortController()
  #leftMs: number
  #since = performance.now()
  #timer: NodeJS.Timeout | null = null

  constructor(ms: number) {
    this.#leftMs = ms
    this.go()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  stop(): void {
    if (this.#timer === null) return
    clearTimeout(this.#timer)
    this.#timer = null
    this.#leftMs -= performance.now() - this.#since
  }

  go(): void {
    if (this.#timer !== null || this.signal.aborted) return
    this.#since = performance.now()
    const end = () => this.#controller.abort(new DOMException('the time is over', 'TimeoutError'))
    this.#timer = setTimeout(end, Math.max(0, this.#leftMs))
  }

  [Symbol.dispose](): void {
    this.stop()
  }
}
