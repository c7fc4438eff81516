import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { type Rate, TokenBuckets } from '../../tenancy/limits/token-buckets.ts'

/** The connections without a certificate that may be open at once. */
const mostAtOnce = 16

/** The connections without a certificate that one address may open. */
const connectRate: Rate = { perSec: 0.5, burst: 10 }

/** The time after which a connection without a certificate is closed, in milliseconds. */
const longestMs = 30_000

/** A stream of a connection without a certificate. */
export interface StrangerStream {
  readonly address: string | undefined
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
}

/**
 * The connections without a certificate: of machines that want to join. Each may open one stream.
 * An address may have few of them, and all together may have few.
 */
export class Strangers {
  readonly #rates = new TokenBuckets(() => performance.now())
  readonly #open = new Set<ServerHttp2Session>()

  /**
   * Admits a connection, and gives its first stream to `answer`. Returns false if there are too
   * many.
   */
  admit(
    session: ServerHttp2Session,
    { address, answer }: { readonly address: string | undefined; readonly answer: (asked: StrangerStream) => void },
  ): boolean {
    if (this.#open.size >= mostAtOnce || !this.#rates.take(address ?? '', connectRate).allowed) return false
    this.#open.add(session)
    const timer = setTimeout(() => session.destroy(), longestMs).unref()
    session.once('close', () => {
      clearTimeout(timer)
      this.#open.delete(session)
    })
    let begun = 0
    session.on('stream', (stream, headers) => {
      stream.on('error', () => stream.destroy())
      begun += 1
      if (begun > 1) return session.destroy()
      stream.once('close', () => session.close())
      answer({ address, stream, headers })
    })
    return true
  }

  /** Ends all connections. */
  close(): void {
    for (const session of this.#open) session.destroy()
  }
}
