import { constants, type Http2Stream } from 'node:http2'
import { Duplex } from 'node:stream'

/** The parts of a connection between hosts besides its stream. */
export interface PeerConnectionOptions {
  /** The address that stands for the other side: at the owner, the address of the client. */
  readonly remoteAddress?: string | undefined
  /** Ends a stream early. Default: a reset. */
  readonly cancel?: (stream: Http2Stream) => void
}

/**
 * A stream of HTTP/2 between two hosts, in the form of a connection that carries HTTP/1.1. A stream
 * that was reset is an error here, and no regular end.
 */
export class PeerConnection extends Duplex {
  /** Node's HTTP parser and the limits of streams read these three, as of a socket. */
  readonly remoteAddress: string | undefined
  bytesWritten = 0
  bytesRead = 0
  readonly #stream: Http2Stream
  readonly #cancel: (stream: Http2Stream) => void
  #ended = false

  constructor(stream: Http2Stream, { remoteAddress, cancel = reset }: PeerConnectionOptions = {}) {
    // Bytes wait in the stream, whose window bounds them.
    super({ allowHalfOpen: true, readableHighWaterMark: 16 * 1024, writableHighWaterMark: 64 * 1024 })
    this.remoteAddress = remoteAddress
    this.#stream = stream
    this.#cancel = cancel
    // It may break before its user listens. The user sees `close` in any case.
    this.on('error', () => {})
    stream.on('data', (bytes: Buffer) => {
      this.bytesRead += bytes.length
      if (!this.push(bytes)) stream.pause()
    })
    stream.once('end', () => {
      // Node ends the readable side of a stream that was reset, too.
      if (stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR) return
      this.#ended = true
      this.push(null)
    })
    stream.on('error', (error) => this.destroy(error))
    stream.once('close', () => {
      const isWhole = this.#ended && stream.rstCode === constants.NGHTTP2_NO_ERROR
      if (!isWhole) this.destroy(new Error('the connection to another host broke'))
      else if (!this.writableFinished) this.destroy()
    })
  }

  // A socket has these, and libraries call them.
  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  override _read(): void {
    this.#stream.resume()
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.bytesWritten += bytes.length
    this.#stream.write(bytes, encoding, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#stream.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const isOver = this.#ended && this.writableFinished
    if (!isOver && !this.#stream.destroyed && !this.#stream.closed) this.#cancel(this.#stream)
    done(error)
  }
}

/** Ends a stream so that the other side sees a break. */
export function reset(stream: Http2Stream): void {
  stream.close(constants.NGHTTP2_CANCEL)
}
