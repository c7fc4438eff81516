/** How often open streams are looked at: a revoked or expired key loses them within a second. */
const sweepMs = 500

/** A stream whose reader takes nothing for this long is cut; what it missed can be read again from its last cursor. */
const stalledMs = 120_000

/** What carries an answer: a response, or a connection that HTTP has let go of. */
export interface Watched {
  /** True while its reader takes less than it is given. */
  readonly writableNeedDrain: boolean
  readonly socket?: { readonly bytesWritten: number } | null
  readonly bytesWritten?: number
  once(event: 'close', listener: () => void): unknown
}

interface Stream {
  readonly keyId: string
  readonly response: Watched
  readonly cut: (reason: Error) => void
  bytesWritten: number
  movedAt: number
}

/** The answers that stay open, so that they end when their key does or when nobody reads them. */
export class OpenStreams {
  readonly #streams = new Set<Stream>()
  readonly #validKeys: (keyIds: readonly string[]) => Promise<ReadonlySet<string>>
  #timer: NodeJS.Timeout | null = null

  /** `validKeys` answers which of some keys are still good. */
  constructor(validKeys: (keyIds: readonly string[]) => Promise<ReadonlySet<string>>) {
    this.#validKeys = validKeys
  }

  /** Watches a stream until its response is closed. */
  add(keyId: string, response: Watched, cut: (reason: Error) => void): void {
    const stream: Stream = { keyId, response, cut, bytesWritten: 0, movedAt: performance.now() }
    this.#streams.add(stream)
    response.once('close', () => {
      this.#streams.delete(stream)
      if (this.#streams.size === 0) this.#stop()
    })
    this.#timer ??= setInterval(() => void this.#sweep().catch(() => this.#cutAll()), sweepMs).unref()
  }

  /** Cuts the streams of one key at once. */
  cutKey(keyId: string): void {
    for (const stream of this.#streams) if (stream.keyId === keyId) stream.cut(new Error('the key was revoked'))
  }

  /** Cuts every stream. */
  close(): void {
    this.#cutAll()
    this.#stop()
  }

  async #sweep(): Promise<void> {
    const valid = await this.#validKeys([...new Set([...this.#streams].map(({ keyId }) => keyId))])
    for (const stream of this.#streams) {
      if (!valid.has(stream.keyId)) stream.cut(new Error('the key is no longer valid'))
      else if (isStalled(stream)) stream.cut(new Error('nobody reads the stream'))
    }
  }

  /** Whether keys are valid cannot be told: that means no. */
  #cutAll(): void {
    for (const stream of this.#streams) stream.cut(new Error('the stream was cut'))
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }
}

function isStalled(stream: Stream): boolean {
  const written = stream.response.socket?.bytesWritten ?? stream.response.bytesWritten ?? 0
  if (written !== stream.bytesWritten || !stream.response.writableNeedDrain) {
    stream.bytesWritten = written
    stream.movedAt = performance.now()
  }
  return performance.now() - stream.movedAt > stalledMs
}
