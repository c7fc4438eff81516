import {
  type ClientRequest,
  type IncomingMessage,
  request as openRequest,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { pipeline } from 'node:stream/promises'
import { mergePieces } from '@holt/async'
import { endToEnd, fieldsOf, headersOf, valuesOf, withoutFields } from '../requests/fields.ts'
import { type Judgement, judgeRequest, refusalBody } from '../requests/judge-request.ts'
import { plainAnswer } from '../requests/plain-answer.ts'
import { UpstreamFailure } from '../requests/upstream.ts'
import type { Redaction } from '../secrets/masker.ts'
import { redactFields, redactText } from '../secrets/redact.ts'
import type { Http1Connection } from './http1-connection.ts'

/** A request that may be forwarded. */
export type Forwarded = Extract<Judgement, { type: 'forward' }>

/** Decides on a request, and streams it to the upstream and its response back. */
export async function forwardRequest(
  served: Http1Connection,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const judgement = await judge(served, request)
  if (judgement.type === 'refuse') return refuse(response, judgement)
  // Nothing is sent for a program that has disconnected meanwhile.
  if (request.destroyed || response.destroyed || served.connection.signal.aborted) return
  const outgoing = open(served, request, judgement)
  outgoing.on('error', () => {
    // `answerOf` reports the error. Later ones have no receiver.
  })
  const release = served.upstream.holdSecrets(judgement.secrets)
  response.once('close', () => {
    release()
    if (!response.writableFinished) outgoing.destroy()
  })
  // Only once: neither the number of these responses nor the bytes that wait for a program that
  // does not read are bounded.
  outgoing.once('continue', () => response.writeContinue())
  try {
    const answered = answerOf(outgoing)
    send(request, outgoing)
    await passAnswer(await answered, { request, response, redactions: judgement.redactions })
  } catch (error) {
    outgoing.destroy()
    fail(response, error)
  }
}

/** Returns the gateway's judgement of a request on this connection. */
export function judge({ connection }: Http1Connection, request: IncomingMessage): Promise<Judgement> {
  const fields = fieldsOf(request.rawHeaders)
  return judgeRequest(connection, {
    method: request.method ?? '',
    target: ownTarget(request.url ?? ''),
    authorities: [...valuesOf(fields, 'host'), ...authorityOf(request.url ?? '')],
    fields: endToEnd(fields).filter(([name]) => name.toLowerCase() !== 'host'),
  })
}

const absoluteForm = /^https:\/\/([^/?#@]+)([/?].*)?$/i

/** Returns the authority that an absolute target names besides Host (RFC 9112, 3.2.2). */
function authorityOf(url: string): readonly string[] {
  const authority = absoluteForm.exec(url)?.[1]
  return authority === undefined ? [] : [authority]
}

function ownTarget(url: string): string {
  const absolute = absoluteForm.exec(url)
  if (absolute === null) return url
  const rest = absolute[2] ?? ''
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Opens the request to the upstream, with the fields that were decided on. */
export function open(
  { connection, agent }: Http1Connection,
  request: IncomingMessage,
  { fields }: Forwarded,
  switchTo?: string,
): ClientRequest {
  const chunked = switchTo === undefined && request.headers['transfer-encoding'] !== undefined
  const sent = withoutFields(fields, [
    // Only a chunked body has trailers to announce.
    ...(chunked ? [] : ['trailer']),
    // An upgrade is sent without a body. A server that expected one would take the first bytes of
    // the new protocol for it.
    ...(switchTo === undefined ? [] : ['content-length']),
  ])
  const host = connection.port === 443 ? connection.name : `${connection.name}:${connection.port}`
  const outgoing = openRequest({
    agent,
    host: connection.name,
    port: connection.port,
    method: request.method ?? '',
    path: ownTarget(request.url ?? ''),
    maxHeaderSize: 64 * 1024,
    signal: connection.signal,
    headers: {
      Host: host,
      ...headersOf(sent),
      ...(chunked ? { 'Transfer-Encoding': 'chunked' } : {}),
      ...(switchTo === undefined ? {} : { Connection: 'Upgrade', Upgrade: switchTo }),
    },
  })
  outgoing.once('response', (answer) => keepAfterHead(outgoing, answer))
  return outgoing
}

/**
 * Keeps the connection after a response to HEAD, which ends with its head (RFC 9112, 6.3). Node
 * assumes that one without a length ends with the connection, and would close it.
 */
function keepAfterHead(outgoing: ClientRequest, { httpVersion, headers }: IncomingMessage): void {
  if (outgoing.method !== 'HEAD' || httpVersion !== '1.1') return
  const options = (headers.connection ?? '').toLowerCase().split(',')
  if (!options.some((option) => option.trim() === 'close')) outgoing.shouldKeepAlive = true
}

function send(request: IncomingMessage, outgoing: ClientRequest): void {
  outgoing.flushHeaders()
  request.once('aborted', () => outgoing.destroy())
  request.once('end', () => {
    if (request.rawTrailers.length > 0)
      guarded(() => outgoing.addTrailers(headersOf(endToEnd(fieldsOf(request.rawTrailers))) as never))
  })
  request.pipe(outgoing)
}

function answerOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  outgoing.once('response', resolve)
  outgoing.on('error', reject)
  outgoing.once('close', () => reject(new Error('the upstream closed the connection')))
  promise.catch(() => {
    // The code that awaits it gets the error. Sending may fail before that.
  })
  return promise
}

/** Writes a response of the upstream, without secrets. */
export async function passAnswer(
  answer: IncomingMessage,
  {
    request,
    response,
    redactions,
  }: { request: IncomingMessage; response: ServerResponse; redactions: readonly Redaction[] },
): Promise<void> {
  const plain = plainAnswer(endToEnd(fieldsOf(answer.rawHeaders)), redactions)
  if (plain === null) throw new UpstreamFailure('The answer has a content encoding that was not requested.')
  response.sendDate = false
  const bodiless = request.method === 'HEAD' || answer.statusCode === 204 || answer.statusCode === 304
  const hasTrailers = !bodiless && valuesOf(plain.fields, 'content-length').length === 0
  const fields = hasTrailers ? plain.fields : withoutFields(plain.fields, ['trailer'])
  response.writeHead(answer.statusCode ?? 502, redactText(answer.statusMessage ?? '', redactions), fields.flat())
  response.flushHeaders()
  if (bodiless) {
    answer.resume()
    response.end()
    return
  }
  answer.once('end', () => {
    const trailers = redactFields(fieldsOf(answer.rawTrailers), redactions)
    if (hasTrailers && trailers.length > 0) guarded(() => response.addTrailers(headersOf(trailers) as never))
  })
  await pipeline(plain.body(mergePieces(answer)), response)
}

/**
 * Answers a request with the reason for its refusal, and ends the connection: the rest of its body
 * is not read.
 */
export function refuse(
  response: ServerResponse,
  { status, reason, message }: { status: number; reason: string; message: string },
): void {
  const body = refusalBody({ reason, message })
  response.writeHead(status, STATUS_CODES[status] ?? '', {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  })
  response.end(body)
}

/**
 * Handles a failure after a request was allowed. Answers with it if nothing has been written yet.
 * Otherwise it breaks the connection.
 */
export function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const message = error instanceof UpstreamFailure ? error.message : 'The upstream closed the connection early.'
  response.statusMessage = ''
  refuse(response, { status: 502, reason: 'upstream_failed', message })
}

/**
 * Calls a function that may throw in a listener, where the error could not be caught. Ignores the
 * error.
 */
function guarded(act: () => void): void {
  try {
    act()
  } catch {
    // Fields that Node refuses are not forwarded.
  }
}
