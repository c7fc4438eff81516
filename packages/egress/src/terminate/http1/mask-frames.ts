import { Masker, type Redaction } from '../secrets/masker.ts'
import type { Masking } from '../secrets/redactor.ts'
import { FrameReader } from './websocket-frames.ts'

/**
 * The maximum number of headers and contents that wait behind an unfinished value. The number of
 * empty frames and pings is unbounded. At this many, the held bytes are sent.
 */
const maxDue = 1_000

/** The pending output, in order: literal bytes, or a number of content bytes. */
type Due = Buffer | number

/**
 * Masks values in the messages of a WebSocket server, even if the server splits them into several
 * frames. The frames stay as they are.
 */
export class FrameMasker implements Masking {
  readonly #content: Masker
  /**
   * The masker of pings, pongs and closes, each of which is complete. It is reused, because making
   * a masker takes longer than reading a short frame.
   */
  readonly #control: Masker
  readonly #frames = new FrameReader()
  #due: Due[] = []
  /** The masked content that `#due` has not reached. */
  #ready: Buffer = Buffer.alloc(0)

  constructor(redactions: readonly Redaction[]) {
    this.#content = new Masker(redactions)
    this.#control = new Masker(redactions)
  }

  get held(): number {
    return this.#content.held
  }

  push(bytes: Buffer): Buffer {
    const given: Buffer[] = []
    for (const part of this.#frames.read(bytes)) {
      if (part.type === 'header') this.#due.push(part.bytes)
      else if (part.type === 'control') this.#due.push(this.#control.whole(part.bytes))
      else if (part.type === 'end') this.#ready = Buffer.concat([this.#ready, this.#content.end()])
      else {
        this.#due.push(part.bytes.length)
        this.#ready = Buffer.concat([this.#ready, this.#content.push(part.bytes)])
      }
      given.push(...this.#give())
    }
    if (this.#due.length > maxDue) given.push(this.release())
    return Buffer.concat(given)
  }

  release(): Buffer {
    this.#ready = Buffer.concat([this.#ready, this.#content.release()])
    return Buffer.concat(this.#give())
  }

  /** Returns the output that may be sent by now. */
  #give(): Buffer[] {
    const given: Buffer[] = []
    for (let next = this.#due[0]; next !== undefined; next = this.#due[0]) {
      const bytes = typeof next === 'number' ? this.#ready.subarray(0, next) : next
      if (typeof next === 'number') this.#ready = this.#ready.subarray(bytes.length)
      given.push(bytes)
      if (typeof next === 'number' && bytes.length < next) {
        this.#due[0] = next - bytes.length
        break
      }
      this.#due.shift()
    }
    return given
  }
}
