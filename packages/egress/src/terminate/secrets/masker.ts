import { ValueFinder } from './find-values.ts'

/**
 * Bytes that must not reach the runtime, and their mask. Both have the same length, so that lengths
 * and ranges stay correct.
 */
export interface Redaction {
  readonly value: Buffer
  readonly mask: Buffer
  /**
   * The maximum number of bytes that any form of this secret can have. It depends only on the
   * secret's length, not on its letters.
   */
  readonly room: number
}

/**
 * Masks values in a stream of bytes, regardless of chunk boundaries. The amount held back depends
 * on the bytes and on lengths, never on whether the bytes resemble a value: a program that sends
 * guesses could see the difference.
 */
export class Masker {
  readonly #redactions: readonly Redaction[]
  readonly #finders: readonly ValueFinder[]
  readonly #longest: number
  /** The last `#longest` bytes as received, with zeros before the first. */
  #read: Buffer
  /** The masked bytes that were not yet sent. */
  #held: Buffer = Buffer.alloc(0)
  /** The number of last bytes that could all be part of a value. */
  #run = 0

  constructor(redactions: readonly Redaction[]) {
    this.#redactions = redactions
    this.#longest = Math.max(0, ...redactions.map(({ value, room }) => Math.max(value.length, room)))
    this.#finders = [...Map.groupBy(redactions.keys(), (at) => redactions[at]?.value.length ?? 0)].map(
      ([length, places]) =>
        new ValueFinder(
          length,
          places.flatMap((at) => ({ at, bytes: redactions[at]?.value ?? Buffer.alloc(0) })),
        ),
    )
    this.#read = Buffer.alloc(this.#longest)
  }

  /** The number of bytes held back. */
  get held(): number {
    return this.#held.length
  }

  /** Takes bytes, and returns all bytes that can no longer be part of a value. */
  push(bytes: Buffer): Buffer {
    const window = Buffer.concat([this.#read, bytes])
    // A copy: the bytes may be shared, and they are written to.
    const masked = Buffer.concat([this.#held, bytes])
    const given = window.length - masked.length
    for (const finder of this.#finders)
      finder.read(window, this.#longest, (value, end) => {
        const mask = this.#redactions[value]?.mask ?? Buffer.alloc(0)
        const start = end - mask.length - given
        // Bytes already sent stay sent; the rest of the value does not follow them.
        mask.copy(masked, Math.max(0, start), Math.max(0, -start))
      })
    this.#read = window.subarray(window.length - this.#longest)
    this.#run = Math.min(this.#longest, runAtEnd(bytes, this.#run))
    return this.#give(masked, Math.min(this.#run, Math.max(0, this.#longest - 1), masked.length))
  }

  /** Returns all held bytes. A value that continues afterwards is masked from there on. */
  release(): Buffer {
    return this.#give(this.#held, 0)
  }

  /** Returns all held bytes at a place where no value can continue. */
  end(): Buffer {
    this.#read = Buffer.alloc(this.#longest)
    this.#run = 0
    for (const finder of this.#finders) finder.forget()
    return this.release()
  }

  /**
   * Masks bytes that are complete by themselves. One masker can mask any number of them, and must
   * have no other use.
   */
  whole(bytes: Buffer): Buffer {
    return Buffer.concat([this.push(bytes), this.end()])
  }

  #give(masked: Buffer, kept: number): Buffer {
    const end = masked.length - kept
    this.#held = masked.subarray(end)
    return masked.subarray(0, end)
  }
}

/**
 * Returns the number of bytes at the end that could all be part of a value, if `before` such bytes
 * preceded. Values are one line of ASCII text (`fieldValue`).
 */
function runAtEnd(bytes: Buffer, before: number): number {
  for (let at = bytes.length - 1; at >= 0; at--) {
    const byte = bytes[at] ?? 0
    if (byte !== 0x09 && (byte < 0x20 || byte > 0x7e)) return bytes.length - 1 - at
  }
  return before + bytes.length
}
