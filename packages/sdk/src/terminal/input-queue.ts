/** The maximum number of bytes of input in flight, and in one frame. */
const maxUntakenBytes = 128 * 1024
const maxFrameBytes = 32 * 1024

/** An input: bytes, or the end of the input. */
type Typed = Uint8Array<ArrayBuffer> | 'eof'

interface Write {
  readonly typed: Typed
  /** The bytes of it that were sent. */
  sent: number
  /** The positions of its first byte and of its end in all input; null until these were sent. */
  from: number | null
  end: number | null
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The connection that a queue sends to. */
export interface InputSink {
  type(typed: Typed): void
  /** Sets the position of the next bytes. */
  continueAt(position: number): void
}

/**
 * A queue of input, which holds each write until the command has received it. Bytes are counted
 * over all connections. A service that counts them too types each of them once. It then gets those
 * without an acknowledgement again after a broken connection, in the same pieces.
 */
export class InputQueue {
  readonly #sink: InputSink
  readonly #writes: Write[] = []
  /** The position of the next byte to send, and that of this connection's first one. */
  #next = 0
  #base = 0
  /** The position before which everything was received or refused. */
  #taken = 0
  #open = false
  /** True if the service counts the input, and if it knows the position of this connection. */
  #counts = false
  #placed = false
  #refusal: { readonly error: unknown } | null = null
  /** The error of the last broken connection. */
  #lost: unknown

  constructor(sink: InputSink) {
    this.#sink = sink
  }

  /** Sends input after the earlier writes, and resolves when the command has received it. */
  write(typed: Typed): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#writes.push({ typed, sent: 0, from: null, end: null, resolve, reject })
      this.#sendMore()
    })
  }

  /** Notes a new connection. `counts` is true if the service counts the input. */
  attached(counts: boolean): void {
    this.#counts = counts
    this.#placed = false
    this.#base = this.#taken = this.#next
    // An older service would type the same input again.
    while (!counts && isBegunOnce(this.#writes[0])) this.#writes.shift()?.reject(this.#lost)
  }

  /** Starts sending on a connection that may write. */
  start(): void {
    this.#open = true
    this.#sendMore()
  }

  /** Records that the next acknowledged bytes were refused. */
  noteRefused(error: unknown): void {
    this.#refusal = { error }
  }

  /** Records the total of bytes of this connection that the service has processed. */
  noteTaken(bytes: number): void {
    this.#taken = this.#base + bytes
    for (
      let write = this.#writes[0];
      write !== undefined && (write.end ?? Infinity) <= this.#taken;
      write = this.#writes[0]
    ) {
      this.#writes.shift()
      if (this.#refusal === null) write.resolve()
      else write.reject(this.#refusal.error)
    }
    this.#refusal = null
    this.#sendMore()
  }

  /**
   * Handles a broken connection. Input that was not acknowledged waits for the next connection, if
   * the service counts input. Otherwise input that was sent is rejected with `error`, because it
   * may or may not have arrived. So is an end of the input, which has no position.
   */
  break(error: unknown): void {
    this.#open = false
    this.#refusal = null
    this.#lost = error
    if (this.#counts) this.#takeBack(error)
    else while (isBegun(this.#writes[0])) this.#writes.shift()?.reject(error)
  }

  /** Rejects all waiting input. Later input waits for `start`. */
  fail(error: unknown): void {
    this.#open = false
    for (const write of this.#writes.splice(0)) write.reject(error)
  }

  /** Makes the next connection send again from the first byte that was not acknowledged. */
  #takeBack(error: unknown): void {
    for (const write of this.#writes.filter(({ typed, end }) => typed === 'eof' && end !== null)) {
      this.#writes.splice(this.#writes.indexOf(write), 1)
      write.reject(error)
    }
    const [first] = this.#writes
    if (first === undefined || first.from === null) return
    this.#next = Math.max(this.#taken, first.from)
    for (const write of this.#writes.filter(isBegun)) {
      write.sent = write.from === null ? 0 : Math.max(0, this.#next - write.from)
      write.end = null
    }
  }

  #sendMore(): void {
    for (const write of [...this.#writes]) {
      while (write.end === null && this.#open && this.#next - this.#taken < maxUntakenBytes) this.#sendPart(write)
    }
    while (this.#writes[0]?.typed === 'eof' && this.#writes[0].end !== null) this.#writes.shift()?.resolve()
  }

  #sendPart(write: Write): void {
    const { typed } = write
    const part = typed === 'eof' ? typed : typed.subarray(write.sent, write.sent + maxFrameBytes)
    const bytes = part === 'eof' ? 0 : part.length
    if (this.#counts && !this.#placed) this.#sink.continueAt(this.#next)
    this.#placed = true
    write.from ??= this.#next
    write.sent += bytes
    this.#next += bytes
    if (typed === 'eof' || write.sent === typed.length) write.end = this.#next
    this.#sink.type(part)
  }
}

function isBegun(write: Write | undefined): boolean {
  return write !== undefined && (write.sent > 0 || write.end !== null)
}

/** Returns true if a part of a write was sent, on this or an earlier connection. */
function isBegunOnce(write: Write | undefined): boolean {
  return write !== undefined && write.from !== null
}
