/** The most bytes of input in flight, and in one frame. */
const maxUntakenBytes = 128 * 1024
const maxFrameBytes = 32 * 1024

/** An input: bytes, or the end of the input. */
type Typed = Uint8Array<ArrayBuffer> | 'eof'

interface Write {
  readonly typed: Typed
  /** The bytes of it that were sent. */
  sent: number
  /** The offset of its end in the data of this connection; null until all of it was sent. */
  end: number | null
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** A queue of input, which holds each write until the command has received it. */
export class InputQueue {
  readonly #send: (typed: Typed) => void
  readonly #writes: Write[] = []
  #sentBytes = 0
  #takenBytes = 0
  #open = false
  #refusal: { readonly error: unknown } | null = null

  constructor(send: (typed: Typed) => void) {
    this.#send = send
  }

  /** Sends input after the earlier writes, and resolves when the command has received it. */
  write(typed: Typed): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#writes.push({ typed, sent: 0, end: null, resolve, reject })
      this.#sendMore()
    })
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
    this.#takenBytes = bytes
    for (
      let write = this.#writes[0];
      write !== undefined && (write.end ?? Infinity) <= bytes;
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
   * Handles a broken connection. Input that was sent without an acknowledgement is rejected,
   * because it may or may not have arrived. Input that was not sent waits for the next connection.
   */
  break(error: unknown): void {
    this.#open = false
    this.#sentBytes = 0
    this.#takenBytes = 0
    this.#refusal = null
    while (isBegun(this.#writes[0])) this.#writes.shift()?.reject(error)
  }

  /** Rejects all waiting input. Later input waits for `start`. */
  fail(error: unknown): void {
    this.#open = false
    for (const write of this.#writes.splice(0)) write.reject(error)
  }

  #sendMore(): void {
    for (const write of [...this.#writes]) {
      while (write.end === null && this.#open && this.#sentBytes - this.#takenBytes < maxUntakenBytes)
        this.#sendPart(write)
    }
    while (this.#writes[0]?.typed === 'eof' && this.#writes[0].end !== null) this.#writes.shift()?.resolve()
  }

  #sendPart(write: Write): void {
    const { typed } = write
    const part = typed === 'eof' ? typed : typed.subarray(write.sent, write.sent + maxFrameBytes)
    const bytes = part === 'eof' ? 0 : part.length
    write.sent += bytes
    this.#sentBytes += bytes
    if (typed === 'eof' || write.sent === typed.length) write.end = this.#sentBytes
    this.#send(part)
  }
}

function isBegun(write: Write | undefined): boolean {
  return write !== undefined && (write.sent > 0 || write.end !== null)
}
