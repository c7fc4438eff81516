import { Transform, type TransformCallback } from 'node:stream'

/**
 * The silence of the host after which held bytes are sent, in milliseconds. It is longer than a
 * round trip to most hosts. A sender that waits for an acknowledgement in the middle of a value
 * pauses for one. A program can choose that place by the amount it sends.
 */
export const pauseMs = 250

/**
 * The time for which one stream is masked before it yields to the event loop, in milliseconds. A
 * sender may split its data into tens of thousands of messages.
 */
const stretchMs = 5

/**
 * The bytes that are masked between two looks at the clock. They take some milliseconds if each
 * message has one byte.
 */
const sliceBytes = 2048

/** Masks the values of secrets in a stream. */
export interface Masking {
  /** The number of bytes held back. */
  readonly held: number
  /** Takes bytes, and returns those that may be sent. */
  push(bytes: Buffer): Buffer
  /** Returns all held bytes. */
  release(): Buffer
}

/**
 * Masks values in a stream, regardless of chunk boundaries. The times and sizes of its output do
 * not depend on the values.
 */
export class Redactor extends Transform {
  readonly #masking: Masking
  readonly #isWhole: boolean
  #timer: NodeJS.Timeout | null = null

  /**
   * `isWhole`: no reader acts on a part of the stream, so held bytes wait for the rest without a
   * time limit.
   */
  constructor(masking: Masking, { isWhole = false } = {}) {
    super()
    this.#masking = masking
    this.#isWhole = isWhole
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#stop()
    this.#mask(chunk, [], done)
  }

  /**
   * Restarts the wait. A reader that read nothing kept the sender from sending, which is no pause
   * of the sender.
   */
  override _read(size: number): void {
    this.#timer?.refresh()
    super._read(size)
  }

  override _flush(done: (error: Error | null, data?: Buffer) => void): void {
    this.#stop()
    done(null, this.#masking.release())
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stop()
    done(error)
  }

  /**
   * Masks a chunk in slices. The work for a byte does not depend on the values, so the pauses do
   * not, either.
   */
  #mask(chunk: Buffer, given: Buffer[], done: TransformCallback): void {
    const until = performance.now() + stretchMs
    let at = 0
    do {
      given.push(this.#masking.push(chunk.subarray(at, at + sliceBytes)))
      at += sliceBytes
    } while (at < chunk.length && performance.now() < until)
    if (at < chunk.length) {
      setImmediate(() => (this.destroyed ? done() : this.#mask(chunk.subarray(at), given, done)))
      return
    }
    if (this.#masking.held > 0 && !this.#isWhole) this.#wait()
    done(null, Buffer.concat(given))
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      if (this.readableLength > 0 || this.writableLength > 0) this.#wait()
      else this.push(this.#masking.release())
    }, pauseMs).unref()
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}
