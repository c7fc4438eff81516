/** The fate of a command when its caller aborts the call, or leaves the loop over its output. */
export type OnAbort = 'kill' | 'leave'

/**
 * The time to wait for the answer to a start that was sent. Only the answer names the command to
 * kill.
 */
const startGraceMs = 5_000

/** Kills a foreground command, or interrupts code, whose caller no longer waits for it. */
export class CommandAbort {
  readonly #signal: AbortSignal | undefined
  readonly #kill: ((commandId: string) => Promise<void>) | null
  readonly #connection = new AbortController()
  #commandId: string | null = null
  #killed: Promise<void> | null = null
  #hasExited = false
  #timer: NodeJS.Timeout | undefined
  readonly #onAbort = () => this.#aborted()

  /** If `kill` is null, the command continues. */
  constructor(signal: AbortSignal | undefined, kill: ((commandId: string) => Promise<void>) | null) {
    this.#signal = signal
    this.#kill = kill
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /**
   * The signal that ends the connection. It ends with the caller's signal, but not before the
   * command is known and killed.
   */
  get connection(): AbortSignal {
    return this.#connection.signal
  }

  /**
   * Records the id of the command. Throws the signal's reason if the caller has aborted meanwhile.
   */
  async started(commandId: string): Promise<void> {
    this.#commandId = commandId
    if (this.#signal?.aborted === true) this.#aborted()
    await this.throwIfAborted()
  }

  /**
   * Records that the command has exited. Its background processes continue, as after a complete
   * run.
   */
  exited(): void {
    this.#hasExited = true
  }

  /** Throws the signal's reason if the caller has aborted, after the command is killed. */
  async throwIfAborted(): Promise<void> {
    if (this.#signal?.aborted !== true) return
    // The caller gets the reason of the abort. A service that cannot kill the command now may not
    // be reachable at all.
    await this.#killed?.catch(() => undefined)
    this.#signal.throwIfAborted()
  }

  /** Kills the command when its caller has left the loop. */
  async left(): Promise<void> {
    if (this.#commandId !== null && !this.#hasExited) this.#killed ??= this.#kill?.(this.#commandId) ?? null
    await this.#killed
  }

  /** Ends the connection, and removes the listener of the signal. */
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
