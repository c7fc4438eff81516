import { constants, type Http2Stream } from 'node:http2'
import { PassThrough, type Readable } from 'node:stream'
import { mergePieces } from '@holt/async'

const ended = new WeakSet<Http2Stream>()

/**
 * Tracks from a stream's beginning whether its other side ends it. A reset also ends the readable
 * side, as if the body were complete. That includes a reset without an error (RFC 9113, 8.1) before
 * the end. But the stream then already counts as closed (`onStreamClose` of
 * `lib/internal/http2/core.js`).
 */
export function followEnd<Stream extends Http2Stream>(stream: Stream): Stream {
  const push = stream.push.bind(stream)
  if (stream.endAfterHeaders || (!stream.closed && stream.state.remoteClose === 1)) ended.add(stream)
  stream.push = (piece: unknown, encoding?: BufferEncoding) => {
    if (piece === null && !stream.closed) ended.add(stream)
    return push(piece, encoding)
  }
  return stream
}

/** Returns true if the other side has ended a stream that `followEnd` tracks. */
export function hasEnded(stream: Http2Stream): boolean {
  return ended.has(stream)
}

/**
 * Returns the body of a stream that `followEnd` tracks. It ends only if the other side ended it. A
 * reset is an error here.
 */
export function wholeBody(stream: Http2Stream): Readable {
  const body = mergePieces(new PassThrough())
  const end = () => {
    if (hasEnded(stream) && stream.rstCode === constants.NGHTTP2_NO_ERROR) body.end()
    else body.destroy(new Error('the stream was reset'))
  }
  body.on('error', () => {
    // The reader of the body gets the error. There may be none yet.
  })
  stream.once('end', end).once('close', end)
  body.once('close', () => stream.resume())
  stream.pipe(body, { end: false })
  return body
}

/**
 * Aborts a stream. `close` with a code would end its writable side first, and an incomplete body
 * would look complete.
 */
export function reset(stream: Http2Stream): void {
  if (!stream.destroyed) stream.destroy(new Error('the other side closed the stream early'))
}
