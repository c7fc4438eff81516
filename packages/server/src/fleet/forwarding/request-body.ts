import type { ClientRequest, IncomingMessage } from 'node:http'
import { passedTrailers } from '../../inside/ports/forward-headers.ts'

/** An empty chunk, which sends the headers unchanged. `flushHeaders` would encode them as UTF-8. */
const nothing = Buffer.alloc(0)

/** The maximum number of bytes of a body that are kept to send it again. */
const maxKeptBytes = 16 * 1024

/**
 * The body of a client's request on its way to the owner. It is sent as it arrives, and no faster
 * than the owner reads. A short body is kept, so that the request can be sent again.
 */
export class RequestBody {
  readonly #request: IncomingMessage
  readonly #given: Buffer | null
  #kept: Buffer[] | null = []
  #keptBytes = 0
  #isBegun = false

  /** `given` is the body, if it was read already. */
  constructor(request: IncomingMessage, given?: Buffer) {
    this.#request = request
    this.#given = given ?? null
  }

  /** True if nothing was read, so that this host can still answer the request. */
  get isUntouched(): boolean {
    return !this.#isBegun
  }

  /** True if the whole body can be sent now, again or for the first time. */
  get isWhole(): boolean {
    return this.#given !== null || !this.#isBegun || (this.#kept !== null && this.#request.complete)
  }

  /** Sends the body. Destroys `outgoing` if the client breaks off. */
  sendTo(outgoing: ClientRequest): void {
    if (this.#given !== null) {
      outgoing.end(this.#given)
      return
    }
    if (this.#isBegun) {
      outgoing.end(Buffer.concat(this.#kept ?? []))
      return
    }
    this.#isBegun = true
    const request = this.#request
    request.on('data', (bytes: Buffer) => this.#keep(bytes))
    request.once('end', () => {
      if (request.headers['transfer-encoding'] !== undefined) outgoing.addTrailers(passedTrailers(request.rawTrailers))
      outgoing.end()
    })
    request.once('close', () => {
      if (!request.complete) outgoing.destroy()
    })
    // The owner sees the request at once, not when the first of its body comes.
    outgoing.write(nothing)
    request.pipe(outgoing, { end: false })
  }

  /** Ends the transfer to an owner. */
  stop(outgoing: ClientRequest): void {
    this.#request.unpipe(outgoing)
  }

  #keep(bytes: Buffer): void {
    this.#keptBytes += bytes.length
    if (this.#keptBytes > maxKeptBytes) this.#kept = null
    else this.#kept?.push(bytes)
  }
}
