import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import { Readable } from 'node:stream'
import { mergePieces } from '@holt/async'
import { EngineError, type GuestRequest, type GuestResponse } from '@holt/engine'

/**
 * The bytes of items that are read ahead if a guest ends the stream for a checkpoint: the items
 * that may be sent ahead of their reader, and the last write.
 */
const TAKE_IN_BYTES = 8 * 2 ** 20

/** An open answer that is a stream of items. */
export interface ItemAnswer {
  /**
   * Sets whether the guest's items are read at once, up to a bound, even if their reader is slow. A
   * connection that ends discards the unread bytes in HTTP/2.
   */
  takeIn(ahead: boolean): void
}

/**
 * Sends one request over a session. Resolves with the answer's headers and its body as a stream. An
 * answer that is a stream of items is in `open` until it has ended.
 */
export async function sendRequest(
  session: ClientHttp2Session,
  request: GuestRequest,
  open: Set<ItemAnswer>,
): Promise<GuestResponse> {
  request.signal.throwIfAborted()
  const { body } = request
  const stream = openStream(session, request)
  return new Promise((resolve, reject) => {
    let failure: unknown = null
    let answered = false
    const end = (reason: unknown) => {
      failure ??= reason
      stream.destroy(asError(failure))
    }
    const abort = () => end(request.signal.reason)
    request.signal.addEventListener('abort', abort, { once: true })
    stream.on('error', (cause) => {
      failure ??= new EngineError('unavailable', 'the connection to the guest broke', { cause })
    })
    stream.on('close', () => {
      request.signal.removeEventListener('abort', abort)
      if (body instanceof Readable) body.destroy()
      failure ??= new EngineError('unavailable', 'the guest ended the stream')
      if (!answered) reject(failure)
    })
    stream.on('response', (received) => {
      answered = true
      const { body, answer } = answerBody(stream, () => failure)
      if (received['content-type'] === 'application/x-ndjson') {
        open.add(answer)
        stream.once('close', () => open.delete(answer))
      }
      resolve({ status: Number(received[':status']), headers: plainHeaders(received), body })
    })
    sendBody(stream, body, end)
  })
}

/**
 * Opens a stream for a request. A session throws if the other side has just closed it or if it has
 * no stream numbers left.
 */
function openStream(
  session: ClientHttp2Session,
  { method, path, headers = {}, body }: GuestRequest,
): ClientHttp2Stream {
  try {
    const all = { ...headers, ':method': method, ':path': path }
    return mergePieces(session.request(all, { endStream: body === undefined }))
  } catch (cause) {
    throw new EngineError('unavailable', 'the connection to the guest takes no request', { cause })
  }
}

function sendBody(stream: ClientHttp2Stream, body: GuestRequest['body'], fail: (reason: unknown) => void): void {
  if (body === undefined) return
  if (!(body instanceof Readable)) {
    stream.end(body)
    return
  }
  body.on('error', fail)
  body.on('close', () => {
    if (!body.readableEnded) fail(new EngineError('failed', 'the body of the request was interrupted'))
  })
  body.pipe(stream)
}

/**
 * Returns the answer as a stream that ends only if the guest ended it. A broken answer has an error
 * of kind `unavailable` (or the signal's reason) instead. Destroying it resets the HTTP/2 stream.
 */
function answerBody(stream: ClientHttp2Stream, failure: () => unknown): { body: Readable; answer: ItemAnswer } {
  let ahead = 0
  const body = mergePieces(
    new Readable({
      highWaterMark: 256 * 1024,
      read: () => {
        stream.resume()
      },
      destroy: (error, done) => {
        stream.destroy()
        done(error)
      },
    }),
  )
  body.on('error', () => {
    // The reader of the body gets the error. There may be none yet.
  })
  let ended = false
  stream.on('data', (part: Buffer) => {
    ahead -= part.length
    if (!body.push(part) && ahead <= 0) stream.pause()
  })
  stream.on('end', () => {
    // A reset without an error ends the readable side, too. Only a clean end has rstCode 0 and was
    // not aborted.
    if (stream.aborted || stream.rstCode !== 0) return
    ended = true
    body.push(null)
  })
  stream.on('close', () => {
    if (!ended && !body.destroyed) body.destroy(asError(failure()))
  })
  stream.pause()
  const takeIn = (all: boolean) => {
    ahead = all ? TAKE_IN_BYTES : 0
    if (all) stream.resume()
    else if (body.readableLength >= body.readableHighWaterMark) stream.pause()
  }
  return { body, answer: { takeIn } }
}

function plainHeaders(received: IncomingHttpHeaders): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(received)) {
    if (name.startsWith(':') || value === undefined) continue
    headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return headers
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new EngineError('unavailable', String(reason))
}
