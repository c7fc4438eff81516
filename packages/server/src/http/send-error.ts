import type { Duplex } from 'node:stream'
import type { EngineError } from '@holt/engine'
import { type ErrorBody, HoltError, makeId } from '@holt/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { fromEngineError, isEngineError, isTimeout } from '../engine-errors.ts'
import type { Log } from '../service.ts'
import { isDiskFull } from '../store/disk-full.ts'
import { isUnstorableText } from '../store/unstorable-text.ts'
import { ClientGone } from './gone-signal.ts'

/** What fastify itself refuses, as errors of the catalogue. */
const frameworkErrors: Readonly<Record<string, () => HoltError>> = {
  FST_ERR_BAD_URL: () => new HoltError('invalid_request', 'The path is not percent-encoded UTF-8.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new HoltError('unsupported_media_type', 'The Content-Type is not one that this route takes.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new HoltError('invalid_request', 'The Content-Length does not match the body.'),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new HoltError('too_large', 'The body is too large.'),
}

/** The error that a client sees for whatever was thrown. What nobody expected is logged and becomes `internal`. */
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
  if (isUnstorableText(error))
    return new HoltError('invalid_request', 'Text of the request has a NUL character.', { cause: error })
  if (error instanceof ClientGone) log.debug({ request_id: requestId }, error.message)
  else log.error({ err: error, request_id: requestId }, 'a request failed')
  return new HoltError('internal', 'The service failed.', { cause: error })
}

/** An error as it stands in an answer. */
export function errorBody(error: HoltError, requestId: string): ErrorBody {
  const { code, message, hint, details } = error
  return { error: { code, message, hint, ...(details === undefined ? {} : { details }), request_id: requestId } }
}

/** What every answer has. */
export function standingHeaders(requestId: string): Record<string, string> {
  return { 'x-request-id': requestId, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
}

/** Answers a request with an error. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  { error, log }: { error: unknown; log: Log },
): FastifyReply {
  const failure = toHoltError(error, log, request.id)
  if (failure.status === 426) reply.header('upgrade', 'websocket')
  if (failure.status === 401) reply.header('www-authenticate', 'Bearer')
  const retryAfter = failure.details?.retry_after_secs
  if (failure.status === 503 || failure.status === 429)
    reply.header('retry-after', String(typeof retryAfter === 'number' ? retryAfter : 1))
  return reply
    .code(failure.status)
    .headers({ ...standingHeaders(request.id), 'content-type': 'application/json; charset=utf-8' })
    .send(JSON.stringify(errorBody(failure, request.id)))
}

/** Answers with an error where there is no reply to write to, and hangs up. */
export function answerOnSocket(
  socket: Duplex,
  { error, requestId = makeId('request') }: { error: HoltError; requestId?: string },
): void {
  const body = JSON.stringify(errorBody(error, requestId))
  const headers = [
    `HTTP/1.1 ${error.status} ${error.code}`,
    'Content-Type: application/json; charset=utf-8',
    `X-Request-Id: ${requestId}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.on('error', () => socket.destroy())
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

function logged(error: EngineError, log: Log, requestId: string): HoltError {
  log.warn({ err: error, request_id: requestId }, 'the engine failed a request')
  return fromEngineError(error)
}
