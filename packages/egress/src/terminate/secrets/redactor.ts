import { Transform, type TransformCallback } from 'node:stream'

/**
 * Silence of the host after which held bytes are sent, in milliseconds. It is longer than a round
 * trip to most hosts: a sender that waits for an acknowledgement in the middle of a value pauses
 * for one, and a program can choose that place by the amount it sends.
 */
export const pauseMs = 250

/**
 * How long one stream is masked until others of the event loop go first: a sender may cut what it
 * sends into tens of thousands of messages.
 */
const stretchMs = 5

/**
 * So many bytes are masked between two looks at the clock: some milliseconds where each message has
 * one byte.
 */
const sliceBytes = 2048

/** Takes the values out of a stream. */
export interface Masking {
  /** The number of bytes held back. */
  readonly held: number
  /** Takes bytes, and returns those that may be sent on. */
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
   * A reader that took nothing kept the sender from sending. That was no pause of the sender; its
   * time starts now.
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

  /** The work for a byte does not depend on the values, and so neither do the rests. */
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
