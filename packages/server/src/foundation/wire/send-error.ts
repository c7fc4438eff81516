import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { EngineError } from '@holt/engine'
import { type ErrorBody, HoltError, makeId } from '@holt/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { fromEngineError, isEngineError, isTimeout } from '../errors/engine-errors.ts'
import { finite, limitHeaders } from '../errors/limit-reached.ts'
import { movedHeader } from '../errors/moved-header.ts'
import { otherHost } from '../host/require-own.ts'
import type { Log } from '../log.ts'
import { vouchOf } from '../request/vouch.ts'
import { isDiskFailed } from '../store/disk-failed.ts'
import { isDiskFull } from '../store/disk-full.ts'
import { isUnstorableText } from '../store/unstorable-text.ts'
import { ClientGone } from './client-gone.ts'

/** The errors of fastify itself, as errors of the catalogue. */
const frameworkErrors: Readonly<Record<string, () => HoltError>> = {
  FST_ERR_BAD_URL: () => new HoltError('invalid_request', 'The path is not percent-encoded UTF-8.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new HoltError('unsupported_media_type', 'This route does not accept this Content-Type.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new HoltError('invalid_request', 'The Content-Length does not match the body.'),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new HoltError('too_large', 'The body is too large.'),
}

/**
 * Returns the error that a client sees for a thrown value. An unexpected value is logged and
 * becomes `internal`.
 */
export function toHoltError(error: unknown, log: Log, requestId: string): HoltError {
  if (error instanceof HoltError) return error
  if (isEngineError(error)) return logged(error, log, requestId)
  if (isTimeout(error)) return new HoltError('timeout', 'The runtime did not answer in time.')
  const known = frameworkErrors[(error as { code?: string } | null)?.code ?? '']
  if (known !== undefined) return known()
  if (isDiskFull(error)) {
    log.error({ err: error, request_id: requestId }, 'the database cannot be written: the disk is full')
    return new HoltError('disk_full', "The disk of the service's state directory is full.", { cause: error })
  }
  if (isDiskFailed(error)) {
    log.error({ err: error, request_id: requestId }, 'the database cannot be used: its disk fails or is read-only')
    return new HoltError('unavailable', 'The database of the service cannot be read or written.', {
      hint: "Ask the operator to check the disk of the service's state directory. The log of the service has the reason.",
      cause: error,
    })
  }
  if (isUnstorableText(error))
    return new HoltError('invalid_request', 'Text of the request has a NUL character.', { cause: error })
  if (isClientGone(error)) log.debug({ request_id: requestId }, 'the client disconnected')
  else log.error({ err: error, request_id: requestId }, 'a request failed')
  return new HoltError('internal', 'The service failed.', { cause: error })
}

/**
 * Returns true if a request failed because its client is gone. Node's streams that were aborted for
 * that have it as the cause of their AbortError.
 */
function isClientGone(error: unknown): boolean {
  return error instanceof ClientGone || (error instanceof Error && error.cause instanceof ClientGone)
}

/** Returns an error as the body of an answer. */
export function errorBody(error: HoltError, requestId: string): ErrorBody {
  const { code, message, hint, details } = error
  return { error: { code, message, hint, ...(details === undefined ? {} : { details }), request_id: requestId } }
}

/** Returns the headers of every answer. */
export function standingHeaders(requestId: string): Record<string, string> {
  return { 'x-request-id': requestId, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
}

/** Returns the headers of an error. */
export function errorHeaders(error: HoltError, requestId: string): Record<string, string> {
  const { status, details } = error
  return {
    ...standingHeaders(requestId),
    'content-type': 'application/json; charset=utf-8',
    ...(status === 426 ? { upgrade: 'websocket' } : {}),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(status === 503 ? { 'retry-after': String(finite(details?.retry_after_secs) ?? 1) } : {}),
    ...(status === 429 ? limitHeaders(error) : {}),
  }
}

/** Answers a request with an error. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  { error, log }: { error: unknown; log: Log },
): FastifyReply {
  // An error of the body itself means that its connection broke.
  const isBroken = error === request.raw.errored && !(error instanceof HoltError)
  const cause = isBroken ? new ClientGone('the client disconnected', { cause: error }) : error
  const failure = toHoltError(cause, log, request.id)
  return reply
    .code(failure.status)
    .headers(errorHeaders(failure, request.id))
    .headers(movedHeaders(failure, request.raw))
    .send(JSON.stringify(errorBody(failure, request.id)))
}

/** Returns the header that tells another host that the runtime of its request has moved. */
export function movedHeaders({ status, details }: HoltError, { socket }: IncomingMessage): Record<string, string> {
  const hasMoved = status === 503 && details?.reason === otherHost
  return hasMoved && vouchOf(socket) !== null ? { [movedHeader]: '1' } : {}
}

/**
 * Writes an error to a socket that has no reply, and closes the socket. `headers` are added to
 * those of every error.
 */
export function answerOnSocket(
  socket: Duplex,
  {
    error,
    requestId = makeId('request'),
    headers = {},
  }: { error: HoltError; requestId?: string; headers?: Readonly<Record<string, string>> },
): void {
  const body = JSON.stringify(errorBody(error, requestId))
  const all = {
    ...headers,
    ...errorHeaders(error, requestId),
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.on('error', () => socket.destroy())
  socket.end(`HTTP/1.1 ${error.status} ${error.code}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy())
}

function logged(error: EngineError, log: Log, requestId: string): HoltError {
  log.warn({ err: error, request_id: requestId }, 'the engine failed a request')
  return fromEngineError(error)
}
