import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { mergePieces } from '@holt/async'
import { endToEnd, fieldsOf, headersOf, valuesOf } from '../requests/fields.ts'
import { type Judgement, judgeRequest, refusalBody } from '../requests/judge-request.ts'
import { plainAnswer } from '../requests/plain-answer.ts'
import { UpstreamFailure } from '../requests/upstream.ts'
import type { Redaction } from '../secrets/masker.ts'
import type { Field } from '../secrets/put-in.ts'
import { redactFields } from '../secrets/redact.ts'
import type { Http2Connection } from './serve-http2.ts'
import { followEnd, hasEnded, reset, wholeBody } from './whole-body.ts'

/**
 * The maximum number of interim responses (1xx) that are forwarded. Neither their number nor the
 * bytes that wait for a program that does not read are bounded otherwise.
 */
const maxInterim = 16

/** A request as a stream of HTTP/2. */
interface Incoming {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  /** All fields in their order, as received. */
  readonly raw: readonly string[]
}

/**
 * Decides on a request, and streams it to the upstream and its response back, including trailers.
 */
export async function forwardStream(served: Http2Connection, incoming: Incoming): Promise<void> {
  const { stream } = incoming
  stream.on('error', () => stream.destroy())
  const judgement = await judgeStream(served, incoming)
  if (isOver(stream)) return
  if (judgement.type === 'refuse') return refuse(stream, judgement)
  try {
    const session = await served.upstream.session()
    if (isOver(stream)) return
    const ends = { endStream: stream.endAfterHeaders, waitForTrailers: true }
    const outgoing = mergePieces(followEnd(session.request(pseudoAnd(served, incoming, judgement.fields), ends)))
    const release = served.upstream.holdSecrets(judgement.secrets)
    outgoing.once('close', release)
    passRequest(stream, outgoing)
    const isHead = incoming.headers[':method'] === 'HEAD'
    const answered = passAnswer(outgoing, stream, { redactions: judgement.redactions, isHead })
    mirrorReset(stream, outgoing, answered)
    stream.once('close', () => (isWhole(stream) ? served.linger(outgoing) : reset(outgoing)))
  } catch (error) {
    const message = error instanceof UpstreamFailure ? error.message : 'The upstream accepts no request.'
    refuse(stream, { status: 502, reason: 'upstream_failed', message })
  }
}

function judgeStream({ connection }: Http2Connection, { headers, raw }: Incoming): Promise<Judgement> {
  const fields = fieldsOf(raw)
  const authority = headers[':authority']
  return judgeRequest(connection, {
    method: headers[':method'] ?? '',
    // Another scheme would be another target.
    target: headers[':scheme'] === 'https' ? (headers[':path'] ?? '') : '',
    authorities: [...(authority === undefined ? [] : [authority]), ...valuesOf(fields, 'host')],
    fields: endToEnd(fields).filter(([name]) => !name.startsWith(':') && name !== 'host'),
  })
}

function pseudoAnd({ connection }: Http2Connection, { headers }: Incoming, fields: readonly Field[]) {
  return {
    ':method': headers[':method'] ?? '',
    ':scheme': 'https',
    ':authority': connection.port === 443 ? connection.name : `${connection.name}:${connection.port}`,
    ':path': headers[':path'] ?? '',
    ...headersOf(fields),
  }
}

function passRequest(stream: ServerHttp2Stream, outgoing: ClientHttp2Stream): void {
  let trailers: readonly Field[] = []
  stream.on('trailers', (received) => {
    trailers = ofHeaders(received)
  })
  outgoing.on('wantTrailers', () => guarded(outgoing, () => outgoing.sendTrailers(headersOf(trailers))))
  const body = wholeBody(stream)
  body.once('error', () => reset(outgoing)).pipe(outgoing)
  // Later output of the upstream is discarded. A stream with unread input does not close by itself
  // (`kMaybeDestroy` of `lib/internal/http2/core.js`).
  outgoing.once('close', () => body.destroy()).once('aborted', () => destroyOnceRead(outgoing))
}

function destroyOnceRead(outgoing: ClientHttp2Stream): void {
  if (outgoing.readableEnded) outgoing.destroy()
  else outgoing.once('end', () => outgoing.destroy())
}

/** Resolves when the response was sent to its end, which may never happen. */
function passAnswer(
  outgoing: ClientHttp2Stream,
  stream: ServerHttp2Stream,
  { redactions, isHead }: { redactions: readonly Redaction[]; isHead: boolean },
): Promise<void> {
  const { promise: answered, resolve } = Promise.withResolvers<void>()
  let trailers: readonly Field[] = []
  outgoing.on('trailers', (received) => {
    trailers = redactFields(ofHeaders(received), redactions)
  })
  let interim = 0
  outgoing.on('headers', (headers) => {
    const status = Number(headers[':status'])
    if (status < 100 || status >= 200 || stream.headersSent || isOver(stream)) return
    interim += 1
    if (interim > maxInterim) return
    const fields = redactFields(ofHeaders(headers), redactions)
    guarded(stream, () => stream.additionalHeaders({ ':status': status, ...headersOf(fields) }))
  })
  outgoing.once('response', (headers) => {
    if (isOver(stream)) return reset(outgoing)
    const plain = plainAnswer(ofHeaders(headers), redactions)
    if (plain === null) {
      reset(outgoing)
      const message = 'The answer has a content encoding that was not requested.'
      return refuse(stream, { status: 502, reason: 'upstream_failed', message })
    }
    const status = Number(headers[':status'])
    const fields = { ':status': status, ...headersOf(plain.fields) }
    const bodiless = isHead || [204, 205, 304].includes(status)
    stream.on('wantTrailers', () => {
      guarded(stream, () => stream.sendTrailers(headersOf(trailers)))
      resolve()
    })
    guarded(stream, () => stream.respond(fields, { waitForTrailers: !bodiless, endStream: bodiless }))
    if (bodiless) resolve()
    if (bodiless || isOver(stream)) outgoing.resume()
    else
      plain
        .body(wholeBody(outgoing))
        .on('error', () => reset(stream))
        .pipe(stream)
  })
  return answered
}

/**
 * Mirrors a reset of the upstream's stream to the program's. A reset without an error takes effect
 * after the response was sent.
 */
function mirrorReset(stream: ServerHttp2Stream, outgoing: ClientHttp2Stream, answered: Promise<void>): void {
  outgoing.on('error', () => {
    // The error is reported to the runtime when the stream closes.
  })
  outgoing.once('close', () => {
    if (isOver(stream)) return
    if (!stream.headersSent) {
      refuse(stream, { status: 502, reason: 'upstream_failed', message: 'The upstream closed the connection early.' })
    } else if (outgoing.rstCode !== constants.NGHTTP2_NO_ERROR) {
      reset(stream)
    } else void answered.then(() => stopUpload(stream))
  })
}

/**
 * Returns true for a closed stream with a complete request and response. The request may still be
 * in transit to the upstream.
 */
function isWhole(stream: ServerHttp2Stream): boolean {
  return hasEnded(stream) && stream.writableFinished && stream.rstCode === constants.NGHTTP2_NO_ERROR
}

/**
 * Tells a program with a complete response that the rest of its request is not read (RFC 9113,
 * 8.1).
 */
function stopUpload(stream: ServerHttp2Stream): void {
  if (!hasEnded(stream) && !isOver(stream)) stream.close(constants.NGHTTP2_NO_ERROR)
}

/** Returns received headers as fields, without pseudo fields. */
function ofHeaders(headers: IncomingHttpHeaders): Field[] {
  const fields = Object.entries(headers)
    .filter(([name]) => !name.startsWith(':'))
    .flatMap(([name, values]) => [values ?? []].flat().map((value): Field => [name, value]))
  return endToEnd(fields)
}

function refuse(
  stream: ServerHttp2Stream,
  { status, reason, message }: { status: number; reason: string; message: string },
): void {
  if (isOver(stream) || stream.headersSent) return
  guarded(stream, () => {
    stream.respond({ ':status': status, 'content-type': 'application/json' })
    stream.end(refusalBody({ reason, message }))
  })
  stream.resume()
}

/**
 * Returns true for a stream that accepts no more output. A stream that the other side closed is
 * destroyed only after its body was read.
 */
function isOver(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.closed
}

/**
 * Calls a function that may throw in a listener, where the error could not be caught. Resets the
 * stream if it throws.
 */
function guarded(stream: ServerHttp2Stream | ClientHttp2Stream, act: () => void): void {
  try {
    act()
  } catch {
    reset(stream)
  }
}
