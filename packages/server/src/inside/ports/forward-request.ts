import { type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { mergePieces } from '@holt/async'
import type { PortStream } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { closeAfterLongBody } from '../../foundation/wire/drop-rest-of-body.ts'
import type { RawHeaders } from '../../foundation/wire/end-to-end-headers.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import { earlyHints } from './early-hints.ts'
import type { Visit } from './enter-port.ts'
import { announcedTrailers, passedTrailers, requestHeaders, responseHeaders } from './forward-headers.ts'
import { http2Failure, isHttp2Server } from './http2-answer.ts'
import { letClose } from './let-close.ts'

/** An empty chunk, which sends the headers unchanged. `flushHeaders` would encode them as UTF-8. */
const nothing = Buffer.alloc(0)

/** The maximum number of bytes of the headers of a program's answer. */
const maxAnswerHeaderBytes = 64 * 1024

/**
 * Forwards a request to the program and streams its answer back. Every message is written again
 * from its parsed form, so neither side's framing reaches the other.
 */
export async function forwardRequest(
  visit: Visit,
  { request, response, scheme }: { request: IncomingMessage; response: ServerResponse; scheme: string },
): Promise<void> {
  checkFraming(request)
  const connection = await visit.connect()
  const headers = requestHeaders(request, { target: visit.target, scheme, upgrade: null, masks: visit.admission.masks })
  const outgoing = sendOn(connection, { request, path: visit.credentials.path, headers })
  outgoing.on('information', earlyHints(request, response))
  const answered = answerOf(outgoing)
  response.once('close', () => {
    if (!response.writableFinished) connection.destroy()
  })
  if (response.destroyed) connection.destroy()
  sendBody(request, outgoing)
  try {
    await sendBack(await answered, { visit, request, response })
    if (response.writableFinished && request.complete) await letClose(connection)
  } finally {
    request.unpipe(outgoing)
    outgoing.destroy()
    connection.destroy()
  }
}

/** Starts the request to the program on a new connection. */
export function sendOn(
  connection: PortStream,
  { request, path, headers }: { request: IncomingMessage; path: string; headers: RawHeaders },
): ClientRequest {
  return httpRequest({
    createConnection: () => connection,
    method: request.method ?? 'GET',
    path,
    headers: [...headers],
    setHost: false,
    maxHeaderSize: maxAnswerHeaderBytes,
  })
}

/** Resolves with the head of the program's answer. */
export function answerOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('response', (answer) => {
      answer.on('error', () => {
        // The code that sends it back checks whether it broke off.
      })
      resolve(answer)
    })
    outgoing.on('error', (error) => reject(failure(error)))
    outgoing.once('close', () => reject(failure(new Error('the program closed the connection'))))
  })
}

/**
 * Writes the program's answer to the client. Rejects if it breaks off, which the client sees as a
 * break.
 */
export async function sendBack(
  answer: IncomingMessage,
  { visit, request, response }: { visit: Visit; request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  if (response.destroyed) return
  if (answer.destroyed) throw failure(new Error('the program interrupted its answer'))
  const { statusCode = 0 } = answer
  if (statusCode < 200 || statusCode > 999) throw failure(new Error(`the program answered ${statusCode}`))
  closeAfterLongBody(request, response)
  const trailers = announcedTrailers(answer, request)
  response.writeHead(statusCode, [...responseHeaders(answer, visit.target), ...trailers])
  response.write(nothing)
  await new Promise<void>((resolve) => {
    const breakOff = () => {
      if (!response.writableFinished) response.destroy()
      resolve()
    }
    answer.on('error', breakOff).once('aborted', breakOff)
    response.on('error', breakOff).once('close', breakOff)
    answer.once('end', () => {
      response.addTrailers(passedTrailers(answer.rawTrailers))
      response.end()
    })
    mergePieces(answer).pipe(response, { end: false })
  })
}

/**
 * Throws if the transfer coding of an answer differs from how it was parsed. Another parser could
 * read it differently.
 */
function checkFraming({ headers }: IncomingMessage): void {
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    throw invalidField('/header/Transfer-Encoding', 'must be chunked')
}

function sendBody(request: IncomingMessage, outgoing: ClientRequest): void {
  const chunked = request.headers['transfer-encoding'] !== undefined
  request.once('end', () => {
    if (chunked) outgoing.addTrailers(passedTrailers(request.rawTrailers))
    outgoing.end()
  })
  request.once('close', () => {
    if (!request.complete) outgoing.destroy()
  })
  // The program sees the request at once, not when the first of its body comes.
  outgoing.write(nothing)
  request.pipe(outgoing, { end: false })
}

/** Returns the client's error for a program that did not answer in HTTP. */
function failure(error: Error): Error {
  if (error instanceof HoltError) return error
  if ('rawPacket' in error && error.rawPacket instanceof Uint8Array && isHttp2Server(error.rawPacket))
    return http2Failure(error)
  return new HoltError('port_failed', 'The program on the port sent no valid HTTP answer.', { cause: error })
}
