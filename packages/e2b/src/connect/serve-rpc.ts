import type { IncomingMessage, ServerResponse } from 'node:http'
import { ConnectError, connectStatuses } from '../errors/connect-error.ts'
import { E2bError } from '../errors/e2b-error.ts'
import { parseMessage } from '../proto/parse-message.ts'
import { callTimeoutMs, keepaliveMs, mediaType, namedUser } from './call-headers.ts'
import { readEnvelopes } from './envelopes.ts'
import { type BodyLimits, bodyChunks, countedChunks, inTime, readMessage } from './read-body.ts'
import type { ClientStreamMethod, RpcCall, RpcMethod, ServerStreamMethod } from './rpc-method.ts'
import { StreamWriter, streamType } from './stream-writer.ts'

const unaryType = 'application/json'

/** A client's stream has keepalives about every 50 seconds. This is the least time without one. */
const leastQuietMs = 120_000

/** The largest message of a client's stream, in bytes. Its room is free again when it is taken. */
const maxStreamedBytes = 1024 * 1024

/** A request for a method. */
export interface RpcExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /**
   * Returns the client's error for any other error. An `E2bError` means that the sandbox is gone,
   * so that no method can answer.
   */
  errorOf(error: unknown): ConnectError | E2bError
}

/** The result of the admission of a call. */
interface AdmittedCall<Context> {
  readonly context: Context
  readonly limits: BodyLimits
  /** Aborts when the client is gone or the sandbox ends. */
  readonly gone: AbortSignal
}

type Admit<Context> = () => Promise<AdmittedCall<Context>>

/**
 * Answers a request for a method. `admit` throws if the request may not be answered. Rejects with
 * `E2bError` if the sandbox is gone and the answer has not begun.
 */
export async function serveRpc<Context>(
  method: RpcMethod<Context>,
  exchange: RpcExchange,
  admit: Admit<Context>,
): Promise<void> {
  const { request, response } = exchange
  const wanted = method.type === 'unary' ? unaryType : streamType
  // A client that sends another type could not read an error of this one.
  if (mediaType(request.headers) !== wanted)
    return void response.writeHead(415, { 'accept-post': wanted, 'content-length': 0 }).end()
  return method.type === 'unary' ? serveUnary(method, exchange, admit) : serveStream(method, exchange, admit)
}

async function serveUnary<Context>(
  method: RpcMethod<Context> & { readonly type: 'unary' },
  exchange: RpcExchange,
  admit: Admit<Context>,
): Promise<void> {
  const { request, response } = exchange
  try {
    const { context, limits, gone: signal } = await admit()
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new ConnectError('unimplemented', 'Compressed messages are not supported. Send them uncompressed.')
    const call = { context, user: namedUser(request.headers), timeoutMs: callTimeoutMs(request.headers), signal }
    const message = parseMessage(await readMessage(request, limits), method.schema)
    sendJson(response, 200, await method.answer(message, call))
  } catch (error) {
    const told = exchange.errorOf(error)
    if (told instanceof E2bError) throw told
    sendJson(response, connectStatuses[told.code], { code: told.code, message: told.message })
  }
}

function sendJson(response: ServerResponse, status: number, json: object): void {
  if (response.destroyed) return
  const bytes = Buffer.from(JSON.stringify(json))
  response.writeHead(status, { 'content-type': unaryType, 'content-length': bytes.length }).end(bytes)
}

type StreamMethod<Context> = ServerStreamMethod<Context> | ClientStreamMethod<Context>

/** Answers a stream. Its errors are in an end envelope, below the status 200. */
async function serveStream<Context>(
  method: StreamMethod<Context>,
  exchange: RpcExchange,
  admit: Admit<Context>,
): Promise<void> {
  const { request, response } = exchange
  const writer = new StreamWriter(response)
  const over = new AbortController()
  let timer: NodeJS.Timeout | undefined
  try {
    const { context, limits, gone } = await admit()
    const isServers = method.type === 'serverStream'
    const timeoutMs = callTimeoutMs(request.headers)
    const late = Promise.withResolvers<never>()
    if (timeoutMs !== null)
      timer = setLongTimeout(() => late.reject(deadline()), timeoutMs + (isServers ? method.graceMs : 0))
    if (isServers) writer.keepAlive(method.keepalive, keepaliveMs(request.headers))
    const signal = AbortSignal.any([gone, over.signal])
    const call = { context, user: namedUser(request.headers), timeoutMs, signal }
    const sides = { request, limits, writer }
    await Promise.race([isServers ? answerStream(method, call, sides) : takeStream(method, call, sides), late.promise])
    writer.end()
  } catch (error) {
    const told = exchange.errorOf(error)
    if (!(told instanceof E2bError)) writer.end(told)
    else if (response.headersSent) writer.cut()
    else throw told
  } finally {
    clearTimeout(timer)
    over.abort()
  }
}

/** The two sides of a stream. */
interface Sides {
  readonly request: IncomingMessage
  readonly limits: BodyLimits
  readonly writer: StreamWriter
}

async function answerStream<Context>(
  method: ServerStreamMethod<Context>,
  call: RpcCall<Context>,
  { request, limits, writer }: Sides,
): Promise<void> {
  const message = parseMessage(await firstEnvelope(request, limits), method.schema)
  for await (const answer of method.answer(message, call)) {
    if (call.signal.aborted) return
    await writer.write(answer)
  }
}

/** Returns the one message of a request. Bytes after it are not read. */
async function firstEnvelope(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { maxMessageBytes: maxBytes, bodyTimeoutMs } = limits
  const chunks = countedChunks(bodyChunks(request, bodyTimeoutMs), limits)
  const read = async () => {
    for await (const json of readEnvelopes(chunks, { maxBytes })) return json
    throw new ConnectError('invalid_argument', 'The request has no message.')
  }
  return inTime(read(), bodyTimeoutMs)
}

async function takeStream<Context>(
  method: ClientStreamMethod<Context>,
  call: RpcCall<Context>,
  { request, limits, writer }: Sides,
): Promise<void> {
  const quietMs = Math.max(limits.quietMs, leastQuietMs)
  async function* messages(): AsyncGenerator<unknown> {
    const { room } = limits
    const envelopes = readEnvelopes(bodyChunks(request, quietMs), { maxBytes: maxStreamedBytes, room })
    for await (const json of envelopes) yield parseMessage(json, method.schema)
  }
  await writer.write(await method.take(messages(), call))
}

function deadline(): ConnectError {
  return new ConnectError('deadline_exceeded', 'The timeout of the request is over.')
}

/** The longest time of a timer, in milliseconds. A longer one would fire at once. */
const maxTimerMs = 2 ** 31 - 1

function setLongTimeout(onTime: () => void, timeoutMs: number): NodeJS.Timeout {
  return setTimeout(onTime, Math.min(timeoutMs, maxTimerMs))
}
