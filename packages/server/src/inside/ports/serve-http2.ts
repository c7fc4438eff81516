import { IncomingMessage } from 'node:http'
import { constants, type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { type HoltError, makeId } from '@holt/protocol'
import { runFor } from '../../foundation/request/request-context.ts'
import { errorBody, errorHeaders, toHoltError } from '../../foundation/wire/send-error.ts'
import type { Inside } from '../inside.ts'
import { enterPort, ownWay } from './enter-port.ts'
import { http2Refusal } from './http2-answer.ts'
import { ambiguous, destinationOf } from './port-target.ts'

/** The limits of a connection with a single request. */
const sessionOptions = {
  settings: { maxConcurrentStreams: 1, enablePush: false },
  maxSessionMemory: 1,
  maxHeaderListPairs: 128,
}

/**
 * Answers one request of a client that uses HTTP/2 without TLS, in HTTP/2, and closes the
 * connection. The answer is always an error: the same one as over HTTP/1.1 if the client may not
 * use the port, and otherwise a refusal. `first` is the received data.
 */
export function serveHttp2(service: Inside, { socket, first }: { socket: Socket; first: Uint8Array }): void {
  const { headersTimeoutMs, maxHeaderBytes } = service.limits
  const late = setTimeout(() => socket.destroy(), headersTimeoutMs)
  socket.once('close', () => clearTimeout(late))
  const settings = { ...sessionOptions.settings, maxHeaderListSize: maxHeaderBytes }
  const session = performServerHandshake(taken(socket, first), { ...sessionOptions, settings })
  session.on('error', () => session.destroy())
  let asked = false
  session.on('stream', (stream, headers) => {
    // A stream that a client resets has an error, and nobody else listens for it.
    stream.on('error', () => stream.destroy())
    if (asked) stream.close(constants.NGHTTP2_REFUSED_STREAM)
    else {
      asked = true
      stream.once('close', () => session.close())
      answer(service, { stream, headers, socket })
    }
  })
}

/**
 * Takes a connection from the HTTP/1.1 parser, and returns it with the bytes that the parser has
 * read. Node gives a socket up to a listener for its data, once the parser's own is gone.
 */
function taken(socket: Socket, first: Uint8Array): Duplex {
  socket.removeAllListeners('data')
  const connection = new Duplex({
    read: () => void socket.resume(),
    write: (bytes, _encoding, done) => void socket.write(bytes, done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      // Bytes that nobody has read would turn the end into a reset, and the client would lose the
      // answer.
      socket.resume().end()
      done(error)
    },
  })
  connection.push(first)
  socket.on('data', (bytes) => {
    if (!connection.destroyed && !connection.push(bytes)) socket.pause()
  })
  socket.once('end', () => connection.push(null))
  socket.on('error', () => socket.destroy())
  socket.once('close', () => connection.destroy())
  return connection
}

function answer(
  service: Inside,
  { stream, headers, socket }: { stream: ServerHttp2Stream; headers: IncomingHttpHeaders; socket: Socket },
): void {
  const requestId = makeId('request')
  const request = asRequest(headers, socket)
  const refused = runFor({ requestId, caller: null, span: null }, () => refuse(service, { request, stream }))
  refused.catch((error: unknown) => {
    const failure = toHoltError(error, service.log, requestId)
    service.metrics.http.notePort(request.method ?? 'GET', failure.status)
    if (stream.closed || stream.destroyed) return
    if (isGrpc(headers)) stream.respond(grpcHeaders(failure, requestId), { endStream: true })
    else {
      stream.respond({ ':status': failure.status, ...errorHeaders(failure, requestId) })
      stream.end(request.method === 'HEAD' ? undefined : JSON.stringify(errorBody(failure, requestId)))
    }
  })
}

/** Rejects with the reason why the request is refused. */
async function refuse(
  service: Inside,
  { request, stream }: { request: IncomingMessage; stream: ServerHttp2Stream },
): Promise<never> {
  const destination = destinationOf(request, service.config.portDomain)
  if (destination === 'refused') throw ambiguous()
  if (destination === 'port') {
    const visit = await enterPort(service, {
      way: ownWay(service, request),
      client: stream,
      cut: () => stream.destroy(),
    })
    visit.leave()
  }
  throw http2Refusal()
}

/** Returns the request as it would be in HTTP/1.1 (RFC 9113, 8.3.1). */
function asRequest(headers: IncomingHttpHeaders, socket: Socket): IncomingMessage {
  const { ':authority': authority, ':method': method = 'GET', ':path': path = '/', ...fields } = headers
  const host = authority ?? fields.host
  const request = new IncomingMessage(socket)
  request.method = method
  request.url = path
  const named = Object.entries(host === undefined ? fields : { ...fields, host })
  const distinct = named.flatMap(([name, value]) =>
    name.startsWith(':') ? [] : [[name, [value ?? []].flat()] as const],
  )
  request.headers = Object.fromEntries(named)
  request.headersDistinct = Object.fromEntries(distinct)
  request.rawHeaders = distinct.flatMap(([name, values]) => values.flatMap((value) => [name, value]))
  return request
}

function isGrpc({ 'content-type': type = '' }: IncomingHttpHeaders): boolean {
  return /^application\/grpc(?:[+;]|$)/i.test(type)
}

/** The codes of gRPC for the statuses of HTTP (grpc/doc/http-grpc-status-mapping.md). */
const grpcStatuses: Readonly<Record<number, number>> = {
  400: 13,
  401: 16,
  403: 7,
  404: 12,
  429: 14,
  502: 14,
  503: 14,
  504: 14,
}

/**
 * Returns the headers of an error for a gRPC client, which shows no body (`Trailers-Only` of
 * grpc/doc/PROTOCOL-HTTP2.md).
 */
function grpcHeaders(error: HoltError, requestId: string): Record<string, string | number> {
  const told = error.hint === null || error.hint === undefined ? error.message : `${error.message} ${error.hint}`
  return {
    ':status': 200,
    ...errorHeaders(error, requestId),
    'content-type': 'application/grpc',
    'grpc-status': grpcStatuses[error.status] ?? 2,
    'grpc-message': encodeURIComponent(told).replaceAll('%20', ' '),
  }
}
