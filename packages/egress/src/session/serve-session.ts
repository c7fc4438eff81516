import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Duplex } from 'node:stream'
import { mergePieces } from '@holt/async'

/** The receiver of a session's requests. */
export interface SessionHandler {
  onQuery(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void
  onConnect(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void
}

/**
 * The bytes of one connection that may wait in memory. A larger window is no faster: the guest is
 * as near as a Unix socket.
 */
const streamWindowBytes = 128 * 1024
/** The largest frame. Larger frames are fewer to process. */
const maxFrameBytes = 64 * 1024
/** The maximum number of connections over one guest connection at once. */
export const maxStreams = 512

const sessionOptions = {
  settings: {
    enablePush: false,
    initialWindowSize: streamWindowBytes,
    maxConcurrentStreams: maxStreams,
    maxFrameSize: maxFrameBytes,
    maxHeaderListSize: 8 * 1024,
  },
  maxHeaderListPairs: 32,
  maxSettings: 16,
  maxOutstandingPings: 2,
  maxSessionInvalidFrames: 20,
  maxSessionRejectedStreams: 100,
  /**
   * The maximum number of MB of waiting frames and headers. Above that, further streams are
   * refused.
   */
  maxSessionMemory: 16,
  /**
   * The rate of streams that are opened only to be reset (CVE-2023-44487). Above it the session
   * ends.
   */
  streamResetBurst: 500,
  streamResetRate: 50,
}

/**
 * Serves HTTP/2 on a connection of the guest. The limits of the protocol apply to any input:
 * exceeding them ends the session.
 */
export function serveSession(connection: Duplex, handler: SessionHandler): ServerHttp2Session {
  const session = performServerHandshake(connection, sessionOptions)
  connection.on('error', () => undefined)
  // A protocol violation ends the session. Its connections get the error themselves.
  session.on('error', () => undefined)
  session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    mergePieces(stream).on('error', () => undefined)
    if (stream.destroyed || stream.closed) return
    const method = headers[':method']
    if (method === 'CONNECT') handler.onConnect(stream, headers)
    else if (method === 'POST' && headers[':path'] === '/dns-query') handler.onQuery(stream, headers)
    else {
      stream.respond({ ':status': 404 }, { endStream: true })
      stream.resume()
    }
  })
  return session
}

/** Ends a session whose guest floods. */
export function endFlood(session: ServerHttp2Session): void {
  session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
}
