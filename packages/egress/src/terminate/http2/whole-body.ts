import { constants, type Http2Stream } from 'node:http2'
import { PassThrough, type Readable } from 'node:stream'
import { mergePieces } from '@holt/streams'

const ended = new WeakSet<Http2Stream>()

/**
 * Looks from a stream's beginning on whether its other side ends it. A reset ends the readable side
 * too, as if all had come, also one without an error (RFC 9113, 8.1) that came before the end; but
 * by then the stream counts as closed (`onStreamClose` of `lib/internal/http2/core.js`).
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

/** Whether the other side has ended a stream that `followEnd` looks after. */
export function hasEnded(stream: Http2Stream): boolean {
  return ended.has(stream)
}

/**
 * The body of a stream that `followEnd` looks after. It ends only where the other side ended it; a
 * reset is an error here.
 */
export function wholeBody(stream: Http2Stream): Readable {
  const body = mergePieces(new PassThrough())
  const end = () => {
    if (hasEnded(stream) && stream.rstCode === constants.NGHTTP2_NO_ERROR) body.end()
    else body.destroy(new Error('the stream was reset'))
  }
  body.on('error', () => {
    // Whoever reads it sees it; nobody may be reading yet.
  })
  stream.once('end', end).once('close', end)
  body.once('close', () => stream.resume())
  stream.pipe(body, { end: false })
  return body
}

/**
 * Breaks a stream off. `close` with a code would end its writable side first, and what was half
 * sent would look whole.
 */
export function reset(stream: Http2Stream): void {
  if (!stream.destroyed) stream.destroy(new Error('the other side broke off'))
}
