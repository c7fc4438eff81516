import type { ErrorCode } from '@holt/protocol'
import { HoltApiError, HoltConnectionError } from '../errors/errors.ts'

/** The fate of a command when its caller aborts the call, or leaves the loop over its output. */
export type OnAbort = 'kill' | 'leave'

/**
 * The time to wait for the answer to a start that was sent. Only the answer names the command to
 * kill.
 */
const startGraceMs = 5_000

/**
 * The longest wait for the end of a command, in milliseconds. After that the service or its runtime
 * counts as unreachable.
 */
const endTimeoutMs = 5_000

/** The items of a command or of code, and the way to end it. */
interface Abortable<Item> {
  readonly signal: AbortSignal | undefined
  /** Ends the command of an id. If it is null, the command continues. */
  readonly end: ((id: string) => Promise<void>) | null
  /** Returns the items, over a connection that the signal ends. */
  readonly open: (connection: AbortSignal) => AsyncIterable<Item>
  /** Returns the id of the command; null for an item that does not name it. */
  readonly idOf: (item: Item) => string | null
  /** Returns true for the item after which nothing is left to end. */
  readonly isLast: (item: Item) => boolean
}

/** Yields items. If the caller aborts or leaves the loop, the command is ended before that. */
export async function* untilAborted<Item>({
  signal,
  end,
  open,
  idOf,
  isLast,
}: Abortable<Item>): AsyncGenerator<Item, void, undefined> {
  const abort = new CommandAbort(signal, end)
  let isLeft = true
  try {
    for await (const item of open(abort.connection)) {
      const id = idOf(item)
      if (id !== null) await abort.started(id)
      if (isLast(item)) abort.exited()
      await abort.throwIfAborted()
      yield item
    }
    isLeft = false
  } catch (error) {
    isLeft = false
    await abort.throwIfAborted()
    throw error
  } finally {
    if (isLeft) await abort.left()
    abort.close()
  }
}

/**
 * Ends a command that has no caller any more, within some seconds. One of the codes `gone` is
 * success. `what` is the beginning of the message if the time is over.
 */
export async function endLeft(
  end: (signal: AbortSignal) => Promise<void>,
  { gone, what }: { readonly gone: readonly ErrorCode[]; readonly what: string },
): Promise<void> {
  const signal = AbortSignal.timeout(endTimeoutMs)
  try {
    await end(signal)
  } catch (error) {
    if (error instanceof HoltApiError && gone.includes(error.code)) return
    throw signal.aborted ? new HoltConnectionError('timeout', `${what} within ${endTimeoutMs} ms`) : error
  }
}

/** Kills a foreground command, or interrupts code, whose caller no longer waits for it. */
class CommandAbort {
  readonly #signal: AbortSignal | undefined
  readonly #kill: ((commandId: string) => Promise<void>) | null
  readonly #connection = new AbortController()
  #commandId: string | null = null
  #killed: Promise<void> | null = null
  #hasExited = false
  #timer: NodeJS.Timeout | undefined
  readonly #onAbort = () => this.#aborted()

  /** With `kill` null, the command continues after an abort. */
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
