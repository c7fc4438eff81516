import { type ClientHttp2Stream, performServerHandshake, type ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { mergePieces } from '@holt/streams'
import type { ConnectionToTerminate } from '../terminator.ts'
import type { Upstream } from '../upstream.ts'
import { forwardStream } from './forward-stream.ts'
import { followEnd, reset } from './whole-body.ts'

const maxStreams = 64

/** Bounds of a session with a runtime: its flood costs only itself. */
const insideSettings = {
  settings: {
    maxConcurrentStreams: maxStreams,
    maxHeaderListSize: 32 * 1024,
    initialWindowSize: 128 * 1024,
    enablePush: false,
  },
  maxSessionMemory: 16,
  maxHeaderListPairs: 128,
}

/** One connection of a runtime that speaks HTTP/2, and what is on its other side. */
export class Http2Connection {
  readonly connection: ConnectionToTerminate
  readonly upstream: Upstream
  readonly #inside: ServerHttp2Session
  /** The oldest first. */
  readonly #lingering = new Set<ClientHttp2Stream>()

  constructor(inside: TLSSocket, { connection, upstream }: { connection: ConnectionToTerminate; upstream: Upstream }) {
    this.connection = connection
    this.upstream = upstream
    this.#inside = performServerHandshake(inside, insideSettings)
    this.#inside.on('error', () => this.#inside.destroy())
    this.#inside.on('stream', (stream, headers, _flags, raw) => {
      forwardStream(this, { stream: mergePieces(followEnd(stream)), headers, raw: raw ?? [] }).catch(() =>
        reset(stream),
      )
    })
  }

  /**
   * Leaves a request whose program has its answer to be sent to its end. There are no more of those
   * than streams: nothing else bounds what an upstream that answers and does not read has kept for
   * it.
   */
  linger(outgoing: ClientHttp2Stream): void {
    if (outgoing.destroyed) return
    this.#lingering.add(outgoing)
    outgoing.once('close', () => this.#lingering.delete(outgoing))
    const [oldest] = this.#lingering
    if (this.#lingering.size > maxStreams && oldest !== undefined) reset(oldest)
  }

  /** Serves until the connection is closed. */
  async serve(): Promise<void> {
    await new Promise<void>((resolve) => this.#inside.once('close', () => resolve()))
  }
}
