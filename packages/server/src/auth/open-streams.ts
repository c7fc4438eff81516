/** How often open streams are looked at: a revoked or expired key loses them within a second. */
const sweepMs = 500

/**
 * A stream whose reader takes nothing for this long is cut; what it missed can be read again from
 * its last cursor.
 */
const stalledMs = 120_000

/** What carries an answer: a response, or a connection that HTTP has let go of. */
export interface Watched {
  /** True while its reader takes less than it is given. */
  readonly writableNeedDrain: boolean
  readonly socket?: { readonly bytesWritten: number } | null
  readonly bytesWritten?: number
  once(event: 'close', listener: () => void): unknown
}

/** Under which of a key's secrets something is open. */
export interface Credential {
  readonly keyId: string
  readonly keyVersion: number
}

/** Which of some credentials are still good, as `credentialName` has them. */
export type ValidCredentials = (keyIds: readonly string[]) => Promise<ReadonlySet<string>>

/** A credential as text. */
export function credentialName({ keyId, keyVersion }: Credential): string {
  return `${keyId} ${keyVersion}`
}

interface Stream {
  readonly credential: Credential
  readonly response: Watched
  readonly cut: (reason: Error) => void
  bytesWritten: number
  movedAt: number
}

/** The answers that stay open, so that they end when their key does or when nobody reads them. */
export class OpenStreams {
  readonly #streams = new Set<Stream>()
  readonly #valid: ValidCredentials
  #timer: NodeJS.Timeout | null = null

  /** `valid` answers with which secrets some keys still open the service. */
  constructor(valid: ValidCredentials) {
    this.#valid = valid
  }

  /** How many there are. */
  get size(): number {
    return this.#streams.size
  }

  /** Watches a stream until its response is closed. */
  add(credential: Credential, response: Watched, cut: (reason: Error) => void): void {
    const stream: Stream = { credential, response, cut, bytesWritten: 0, movedAt: performance.now() }
    this.#streams.add(stream)
    response.once('close', () => {
      this.#streams.delete(stream)
      if (this.#streams.size === 0) this.#stop()
    })
    this.#timer ??= setInterval(() => void this.#sweep().catch(() => this.#cutAll()), sweepMs).unref()
  }

  /** Cuts the streams of one key at once. */
  cutKey(keyId: string): void {
    for (const stream of this.#streams)
      if (stream.credential.keyId === keyId) stream.cut(new Error('the key was revoked'))
  }

  /** Looks at once which streams may stay. */
  async look(): Promise<void> {
    if (this.#streams.size > 0) await this.#sweep().catch(() => this.#cutAll())
  }

  /** Cuts every stream. */
  close(): void {
    this.#cutAll()
    this.#stop()
  }

  async #sweep(): Promise<void> {
    const valid = await this.#valid([...new Set([...this.#streams].map(({ credential }) => credential.keyId))])
    for (const stream of this.#streams) {
      if (!valid.has(credentialName(stream.credential))) stream.cut(new Error('the key is no longer valid'))
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
