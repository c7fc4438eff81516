import type { ByteRange } from '@holt/engine'

/** The size of a range, in bytes. */
const rangeBytes = 4 * 2 ** 20

/** The ranges of a file that are read at once. */
const rangesAtOnce = 4

/** Opens a part of a file. */
export type OpenRange = (range: ByteRange, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>

/**
 * Reads a part of a file in order, four ranges of 4 MiB at once. Holds at most 16 MiB. Throws the
 * failure of a range when the bytes before it are read. Ends all ranges when it is abandoned.
 */
export async function* readAhead(
  { offset, length }: ByteRange,
  open: OpenRange,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const ended = new AbortController()
  const stop = AbortSignal.any([signal, ended.signal])
  const end = offset + length
  const ranges: RangeReader[] = []
  let next = offset
  const fill = () => {
    for (; ranges.length < rangesAtOnce && next < end; next += rangeBytes)
      ranges.push(new RangeReader({ offset: next, length: Math.min(rangeBytes, end - next) }, open, stop))
  }
  try {
    for (fill(); ranges[0] !== undefined; fill()) {
      yield* ranges[0].content()
      ranges.shift()
    }
  } finally {
    ended.abort()
  }
}

/** A range that is read into memory, whether or not anybody waits for it. */
class RangeReader {
  readonly #pieces: Uint8Array[] = []
  #wake: () => void = () => {}
  #end: { readonly error: unknown } | 'complete' | null = null

  constructor(range: ByteRange, open: OpenRange, signal: AbortSignal) {
    void this.#read(range, open, signal).then(
      () => this.#finish('complete'),
      (error: unknown) => this.#finish({ error }),
    )
  }

  async *content(): AsyncGenerator<Uint8Array> {
    for (;;) {
      for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) yield piece
      if (this.#end === 'complete') return
      if (this.#end !== null) throw this.#end.error
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  async #read(range: ByteRange, open: OpenRange, signal: AbortSignal): Promise<void> {
    let left = range.length
    for await (const piece of await open(range, signal)) {
      left -= piece.length
      if (left < 0) throw new Error('a range had more bytes than were asked for')
      this.#pieces.push(piece)
      this.#wake()
    }
    if (left > 0) throw new Error('a range ended early')
  }

  #finish(end: { readonly error: unknown } | 'complete'): void {
    this.#end = end
    this.#wake()
  }
}
