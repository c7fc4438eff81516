import { type ClientHttp2Stream, performServerHandshake, type ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { mergePieces } from '@holt/async'
import type { ConnectionToTerminate } from '../../contract/terminator.ts'
import type { Upstream } from '../requests/upstream.ts'
import { forwardStream } from './forward-stream.ts'
import { followEnd, reset } from './whole-body.ts'

const maxStreams = 64

/** The bounds of a session with a runtime, so that a flood affects only itself. */
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

/** One connection of a runtime that speaks HTTP/2, and its upstream. */
export class Http2Connection {
  readonly connection: ConnectionToTerminate
  readonly upstream: Upstream
  readonly #inside: ServerHttp2Session
  /** The oldest stream is first. */
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
   * Lets a request continue to its end after its program has the response. At most `maxStreams`
   * such requests continue. Nothing else bounds the memory for an upstream that responds and does
   * not read.
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
