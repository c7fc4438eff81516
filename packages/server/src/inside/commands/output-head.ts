import { freeBytes } from '../../tenancy/limits/kept-memory.ts'
import { incompleteTail } from './decode-output.ts'

/** The beginning of a stream. */
export interface GatheredOutput {
  readonly text: string
  /** True if the stream had more bytes. */
  readonly truncated: boolean
}

/** The limits of kept output. */
export interface OutputBounds {
  /** The maximum number of bytes of each stream. */
  readonly maxOutputBytes: number
  /** Returns true if so many more bytes may be kept. */
  readonly keep: (bytes: number) => boolean
}

/**
 * Keeps the first bytes of a stream. They are in one buffer, so that output byte by byte takes no
 * more memory than other output.
 */
export class OutputHead {
  readonly #keep: (bytes: number) => boolean
  #maxBytes: number
  #kept = Buffer.alloc(0)
  #keptBytes = 0
  #truncated = false

  constructor({ maxOutputBytes, keep }: OutputBounds) {
    this.#maxBytes = maxOutputBytes
    this.#keep = keep
  }

  add(chunk: Buffer): void {
    const wanted = Math.min(this.#maxBytes, this.#keptBytes + chunk.length)
    if (wanted > this.#kept.length) this.#grow(wanted)
    const copied = chunk.copy(this.#kept, this.#keptBytes, 0, this.#maxBytes - this.#keptBytes)
    this.#keptBytes += copied
    this.#truncated ||= copied < chunk.length
  }

  gathered(): GatheredOutput {
    const all = this.#kept.subarray(0, this.#keptBytes)
    const whole = this.#truncated ? all.subarray(0, all.length - incompleteTail(all)) : all
    return { text: whole.toString('utf8'), truncated: this.#truncated }
  }

  /**
   * Reserves space for bytes. Without space, nothing more is kept, because bytes after a gap would
   * not be the beginning.
   */
  #grow(wanted: number): void {
    const before = this.#kept.length
    let length = Math.min(this.#maxBytes, Math.max(wanted, 2 * before))
    if (length > freeBytes && !this.#keep(length - Math.max(before, freeBytes))) {
      length = Math.max(before, Math.min(this.#maxBytes, freeBytes))
      this.#maxBytes = length
    }
    const kept = Buffer.allocUnsafe(length)
    this.#kept.copy(kept, 0, 0, this.#keptBytes)
    this.#kept = kept
  }
}
