import { constants, type Http2Stream } from 'node:http2'
import { PassThrough, type Readable } from 'node:stream'
import { mergePieces } from '@holt/streams'

/** A stream's body that ends only where the other side ended it. A reset ends the readable side of an HTTP/2 stream too, as if all had come; here it is an error. */
export function wholeBody(stream: Http2Stream): Readable {
  const body = mergePieces(new PassThrough())
  const end = () => {
    if (stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR) body.destroy(new Error('the stream was reset'))
    else body.end()
  }
  body.on('error', () => {
    // Whoever reads it sees it; nobody may be reading yet.
  })
  stream.once('end', end).once('close', end)
  body.once('close', () => stream.resume())
  stream.pipe(body, { end: false })
  return body
}

/** Breaks a stream off. `close` with a code would end its writable side first, and what was half sent would look whole. */
export function reset(stream: Http2Stream): void {
  if (!stream.destroyed) stream.destroy(new Error('the other side broke off'))
}
