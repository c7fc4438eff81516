import type { CallerSession } from '../../foundation/request/caller.ts'

/**
 * The interval between checks of open streams, in milliseconds. A revoked or expired key loses its
 * streams within a second.
 */
const sweepMs = 500

/**
 * The time after which a stream without progress is cut, in milliseconds. The client can read the
 * rest from its last cursor.
 */
const stalledMs = 120_000

/** The transport of an answer: a response, or an upgraded connection. */
export interface Watched {
  /** True while the reader is slower than the writer. */
  readonly writableNeedDrain: boolean
  readonly socket?: { readonly bytesWritten: number } | null
  readonly bytesWritten?: number
  once(event: 'close', listener: () => void): unknown
}

/** The key and secret version under which a stream is open. */
export interface Credential {
  readonly keyId: string
  readonly keyVersion: number
  /** The session of the console in which the stream was opened. */
  readonly session?: CallerSession
}

/** Returns the valid credentials of some keys, in the form of `credentialName`. */
export type ValidCredentials = (keyIds: readonly string[]) => Promise<ReadonlySet<string>>

/** Returns a credential as text. */
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

/** The open streams. Each is cut when its key becomes invalid or nobody reads it. */
export class OpenStreams {
  readonly #streams = new Set<Stream>()
  readonly #valid: ValidCredentials
  readonly #now: () => number
  #timer: NodeJS.Timeout | null = null

  /** `valid` returns the valid credentials of some keys. `now` is the clock of sessions. */
  constructor(valid: ValidCredentials, now: () => number = Date.now) {
    this.#valid = valid
    this.#now = now
  }

  /** The number of open streams. */
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

  /** Cuts the streams of one key immediately. */
  cutKey(keyId: string): void {
    for (const stream of this.#streams)
      if (stream.credential.keyId === keyId) stream.cut(new Error('the key was revoked'))
  }

  /** Cuts the streams of a session of the console, by the digest of its token. */
  cutSession(digest: string): void {
    for (const stream of this.#streams)
      if (stream.credential.session?.digest === digest) stream.cut(new Error('the session was ended'))
  }

  /** Checks immediately which streams may stay open. */
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
      else if ((stream.credential.session?.endsAt ?? Number.POSITIVE_INFINITY) <= this.#now())
        stream.cut(new Error('the session has ended'))
      else if (isStalled(stream)) stream.cut(new Error('nobody reads the stream'))
    }
  }

  /** Cuts all streams. Used also if the validity of keys cannot be checked. */
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
