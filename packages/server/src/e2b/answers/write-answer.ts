import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { E2bError } from '@holt/e2b'
import { HoltError } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import { closeAfterLongBody } from '../../foundation/wire/drop-rest-of-body.ts'
import { errorBody, movedHeaders, standingHeaders, toHoltError } from '../../foundation/wire/send-error.ts'
import { asE2bError } from './as-e2b-error.ts'
import type { E2bRequest } from './e2b-request.ts'

/** An answer of the REST paths. Without `json` the body is empty. */
export interface E2bAnswer {
  readonly status: number
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Writes an answer. An empty one has a `Content-Length` of 0: one of the clients parses every other
 * body as JSON.
 */
export function writeAnswer(
  { request, response, requestId }: E2bRequest,
  { status, json, headers = {} }: E2bAnswer,
): void {
  closeAfterLongBody(request, response)
  const body = json === undefined ? '' : JSON.stringify(json)
  response.writeHead(status, {
    ...standingHeaders(requestId),
    ...headers,
    ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    ...(status === 204 ? {} : { 'content-length': Buffer.byteLength(body) }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Answers a request with an error of the REST paths, or cuts an answer that has begun. */
export function writeError(service: Api, asked: E2bRequest, error: unknown): void {
  const { response, requestId } = asked
  if (response.headersSent || response.destroyed) {
    service.log.debug({ err: error, request_id: requestId }, 'an answer to a client of E2B was interrupted')
    response.destroy()
    return
  }
  const { request, isPlaced } = asked
  const isOther = vouchOf(request.socket) !== null
  const failure = error instanceof E2bError || !isOther ? error : toHoltError(error, service.log, requestId)
  const { status, body, headers } = e2bErrorOf(service, failure, requestId)
  const moved = failure instanceof HoltError ? movedHeaders(failure, request) : {}
  // The host that has placed it reads why it failed, and perhaps asks the next one.
  const isRead = isPlaced && status >= 500 && failure instanceof HoltError
  const json = isRead ? errorBody(failure, requestId) : body
  writeAnswer(asked, { status, json, headers: { ...headers, ...moved } })
}

/** Returns the error that a client sees for a thrown value. An unexpected value is logged. */
export function e2bErrorOf(service: Api, error: unknown, requestId: string): E2bError {
  return error instanceof E2bError ? error : asE2bError(toHoltError(error, service.log, requestId))
}

/** Answers a request to change protocols with an error, and closes its connection. */
export function writeErrorOnSocket(socket: Duplex, { status, body, headers }: E2bError, requestId: string): void {
  const json = JSON.stringify(body)
  const all = {
    ...standingHeaders(requestId),
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    connection: 'close',
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n${lines.join('')}\r\n${json}`, () =>
    socket.destroy(),
  )
}
