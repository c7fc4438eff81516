import { performServerHandshake, type ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { mergePieces } from '@holt/streams'
import type { ConnectionToTerminate } from '../terminator.ts'
import type { Upstream } from '../upstream.ts'
import { forwardStream } from './forward-stream.ts'
import { reset } from './whole-body.ts'

/** Bounds of a session with a runtime: its flood costs only itself. */
const insideSettings = {
  settings: {
    maxConcurrentStreams: 64,
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

  constructor(inside: TLSSocket, { connection, upstream }: { connection: ConnectionToTerminate; upstream: Upstream }) {
    this.connection = connection
    this.upstream = upstream
    this.#inside = performServerHandshake(inside, insideSettings)
    this.#inside.on('error', () => this.#inside.destroy())
    this.#inside.on('stream', (stream, headers, _flags, raw) => {
      forwardStream(this, { stream: mergePieces(stream), headers, raw: raw ?? [] }).catch(() => reset(stream))
    })
  }

  /** Serves until the connection is closed. */
  async serve(): Promise<void> {
    await new Promise<void>((resolve) => this.#inside.once('close', () => resolve()))
  }
}
