/**
 * What becomes of a command when its caller aborts the call, or leaves the loop over its output.
 */
export type OnAbort = 'kill' | 'leave'

/** A start that was sent is waited for so long, as only its answer says which command to kill. */
const startGraceMs = 5_000

/** Kills a foreground command whose caller no longer waits for it. */
export class CommandAbort {
  readonly #signal: AbortSignal | undefined
  readonly #kill: ((commandId: string) => Promise<void>) | null
  readonly #connection = new AbortController()
  #commandId: string | null = null
  #killed: Promise<void> | null = null
  #hasExited = false
  #timer: NodeJS.Timeout | undefined
  readonly #onAbort = () => this.#aborted()

  /** `kill` null: the command goes on. */
  constructor(signal: AbortSignal | undefined, kill: ((commandId: string) => Promise<void>) | null) {
    this.#signal = signal
    this.#kill = kill
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /**
   * Ends the connection: with the caller's signal, but not before the command is known and killed.
   */
  get connection(): AbortSignal {
    return this.#connection.signal
  }

  /** Notes which command it is. Throws the signal's reason if the caller has aborted meanwhile. */
  async started(commandId: string): Promise<void> {
    this.#commandId = commandId
    if (this.#signal?.aborted === true) this.#aborted()
    await this.throwIfAborted()
  }

  /**
   * Notes that the command has exited. What it has left running in the background goes on, as after
   * a whole run.
   */
  exited(): void {
    this.#hasExited = true
  }

  /** Throws the signal's reason if the caller has aborted, as soon as the command is killed. */
  async throwIfAborted(): Promise<void> {
    if (this.#signal?.aborted !== true) return
    // The caller is told of the abort. A service that cannot kill the command now may not be
    // reached at all.
    await this.#killed?.catch(() => undefined)
    this.#signal.throwIfAborted()
  }

  /** Kills the command of a caller that has left. */
  async left(): Promise<void> {
    if (this.#commandId !== null && !this.#hasExited) this.#killed ??= this.#kill?.(this.#commandId) ?? null
    await this.#killed
  }

  /** Ends the connection, and hears of the signal no more. */
  close(): void {
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#connection.abort()
  }

  #aborted(): void {
    clearTimeout(this.#timer)
    const end = () => this.#connection.abort(this.#signal?.reason)
    if (this.#kill === null || this.#hasExited) end()
    else if (this.#commandId === null) this.#timer = setTimeout(end, startGraceMs)
    else {
      this.#killed ??= this.#kill(this.#commandId)
      this.#killed.then(end, end)
    }
  }
}
