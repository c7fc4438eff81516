import { HoltApiError, HoltConnectionError, HoltError } from './errors/errors.ts'
import { backoffMs, sleep } from './transport/retry.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/**
 * The maximum number of bytes of one write. As base64 they are the most that the service takes at
 * once.
 */
const maxWriteBytes = 768 * 1024

/** A source of bytes: a Node stream, a Web stream, or a generator. */
export type ByteSource = AsyncIterable<Uint8Array | string>

interface WriteOptions extends CallOptions {
  /** True if stdin is closed after the data. */
  readonly eof?: boolean
}

/**
 * Writes to a command's stdin in the order of the calls. Every write has an offset, so a write
 * whose answer was lost is sent again and takes effect once. Only one writer may be active, because
 * it counts its own bytes.
 */
export class StdinWriter {
  readonly #transport: Transport
  readonly #params: Readonly<Record<string, string>>
  /** The offset of the next write; null while it is unknown. */
  #offset: number | null
  #last: Promise<unknown> = Promise.resolve()

  constructor(transport: Transport, params: Readonly<Record<string, string>>, offset: number | null) {
    this.#transport = transport
    this.#params = params
    this.#offset = offset
  }

  /** Writes all data, at the speed of the command. */
  write(data: Uint8Array, options: WriteOptions = {}): Promise<void> {
    const turn = this.#last.then(() => this.#write(data, options))
    this.#last = turn.catch(() => {}) // Whoever wrote hears of it; the next write tries for itself.
    return turn
  }

  /**
   * Passes on everything of a source, and closes stdin. If the source is faster than the command,
   * the writes are large.
   */
  async pipe(source: ByteSource, options: CallOptions = {}): Promise<void> {
    const ahead = new ReadAhead(source)
    try {
      for (;;) {
        const { bytes, ended } = await ahead.take()
        await this.write(bytes, { ...options, eof: ended })
        if (ended) return
      }
    } finally {
      ahead.stop()
    }
  }

  async #write(data: Uint8Array, options: WriteOptions): Promise<void> {
    try {
      await this.#writeAll(data, options)
    } catch (error) {
      // A failed write may have arrived. The service takes other data at an old offset for a
      // repetition, so the next write asks for the offset.
      if (!isRefused(error)) this.#offset = null
      throw error
    }
  }

  async #writeAll(data: Uint8Array, { signal, eof = false }: WriteOptions): Promise<void> {
    let at = this.#offset ?? (await this.#send({ data: new Uint8Array(), eof: false, signal }))
    this.#offset = at
    for (let rest = data; ; ) {
      const piece = rest.subarray(0, maxWriteBytes)
      const next = await this.#send({ data: piece, eof: eof && piece.length === rest.length, offset: at, signal })
      const taken = next - at
      if (taken < 0 || taken > piece.length)
        throw new HoltError('conflict', "Something else writes to the command's stdin as well")
      this.#offset = at = next
      rest = rest.subarray(taken)
      if (rest.length === 0) return
    }
  }

  /** Repeats one write until it is answered, and returns the offset of the next write. */
  async #send(write: {
    data: Uint8Array
    eof: boolean
    offset?: number
    signal: AbortSignal | undefined
  }): Promise<number> {
    const { data, signal, ...where } = write
    const json = { data: base64(data), encoding: 'base64' as const, ...where }
    const beganMs = performance.now()
    for (let tries = 1; ; tries++) {
      try {
        return (await this.#transport.call('writeStdin', { signal, params: this.#params, json })).offset
      } catch (error) {
        signal?.throwIfAborted()
        const overdue = performance.now() - beganMs > this.#transport.options.resumeTimeoutMs
        if (!mayRepeat(error) || overdue) throw error
        await sleep(backoffMs(tries), signal)
      }
    }
  }
}

/**
 * Returns true if a repetition may succeed: the answer was lost, or the service or the runtime is
 * unavailable at the moment.
 */
function mayRepeat(error: unknown): boolean {
  if (error instanceof HoltApiError) return error.httpStatus === 503 || error.httpStatus === 504
  return error instanceof HoltConnectionError
}

/** Returns true if a write was refused, so that it has not arrived. */
function isRefused(error: unknown): boolean {
  if (error instanceof HoltApiError) return error.httpStatus < 500
  return error instanceof HoltError && !(error instanceof HoltConnectionError)
}

/** Reads a source while the previous data is written, at most one write ahead. */
class ReadAhead {
  readonly #iterator: AsyncIterator<Uint8Array | string>
  readonly #chunks: Uint8Array[] = []
  #size = 0
  #ended = false
  #failure: { readonly error: unknown } | null = null
  #waiting: (() => void)[] = []

  constructor(source: ByteSource) {
    this.#iterator = source[Symbol.asyncIterator]()
    void this.#read()
  }

  /** Returns all data read so far, and waits until there is some. */
  async take(): Promise<{ bytes: Uint8Array; ended: boolean }> {
    while (this.#size === 0 && !this.#ended) await this.#changed()
    if (this.#failure !== null) throw this.#failure.error
    const bytes = joined(this.#chunks.splice(0), this.#size)
    this.#size = 0
    this.#tell()
    return { bytes, ended: this.#ended }
  }

  /** Stops reading. */
  stop(): void {
    this.#ended = true
    this.#tell()
    // An error of the source after the end has no receiver.
    void this.#iterator.return?.().catch(() => undefined)
  }

  async #read(): Promise<void> {
    try {
      while (!this.#ended) {
        const { value, done } = await this.#iterator.next()
        if (done === true) break
        const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
        this.#chunks.push(bytes)
        this.#size += bytes.length
        this.#tell()
        while (this.#size >= maxWriteBytes && !this.#ended) await this.#changed()
      }
    } catch (error) {
      this.#failure = { error }
    }
    this.#ended = true
    this.#tell()
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #tell(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = chunks
  if (only !== undefined && chunks.length === 1) return only
  const all = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

function base64(bytes: Uint8Array): string {
  if (typeof Buffer !== 'undefined') return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}
