/** The most bytes of input that are on the way at once, and in one frame. */
const maxUntakenBytes = 128 * 1024
const maxFrameBytes = 32 * 1024

/** What is typed: bytes, or the end of the input. */
type Typed = Uint8Array<ArrayBuffer> | 'eof'

interface Write {
  readonly typed: Typed
  /** Bytes of it that were sent. */
  sent: number
  /** Where it ends among all that this connection has sent; null while some of it was not. */
  end: number | null
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What is typed, until the command has been given it. */
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

  /** Sends something after what came before, and resolves when the command has been given it. */
  write(typed: Typed): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#writes.push({ typed, sent: 0, end: null, resolve, reject })
      this.#sendMore()
    })
  }

  /** A connection is there that writes. */
  start(): void {
    this.#open = true
    this.#sendMore()
  }

  /** The next bytes that the service is done with were refused. */
  noteRefused(error: unknown): void {
    this.#refusal = { error }
  }

  /** The service is done with so many bytes of this connection in all. */
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
   * The connection broke: what was sent and not acknowledged may have arrived or not. What was not
   * sent waits for the next one.
   */
  break(error: unknown): void {
    this.#open = false
    this.#sentBytes = 0
    this.#takenBytes = 0
    this.#refusal = null
    while (isBegun(this.#writes[0])) this.#writes.shift()?.reject(error)
  }

  /** Nothing that waits will be written, nor what comes until `start`. */
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
