import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { TLSSocket } from 'node:tls'
import { mergePieces } from '@holt/async'
import { refusalBody } from '../requests/judge-request.ts'
import type { Upstream } from '../requests/upstream.ts'
import { forwardRequest } from './forward-request.ts'
import { forwardUpgrade } from './forward-upgrade.ts'
import type { Http1Connection } from './http1-connection.ts'
import { SerialQueue } from './serial-queue.ts'

const headersTimeoutMs = 30_000
const keepAliveTimeoutMs = 5 * 60_000
const maxHeaderBytes = 32 * 1024

/** Serves HTTP/1.1 to runtimes, each connection with an upstream of its own. */
export class Http1Inside {
  readonly #server: Server
  readonly #connections = new WeakMap<Duplex, Http1Connection>()

  constructor() {
    this.#server = createServer({
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: 0,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: headersTimeoutMs / 2,
      shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === 'websocket',
    })
    // The pieces are merged from the beginning: they wait here until it is this request's turn and
    // it was judged.
    const serve = (request: IncomingMessage, response: ServerResponse) => this.#serve(mergePieces(request), response)
    this.#server.on('request', serve).on('checkContinue', serve)
    this.#server.on('upgrade', (request, socket, head) => this.#switch(request, mergePieces(socket), head))
    this.#server.on('clientError', (_error, socket) => answerBroken(socket))
  }

  /** Serves until the connection is closed. */
  async serve(inside: TLSSocket, { connection, upstream }: Omit<Http1Connection, 'agent' | 'queue'>): Promise<void> {
    const agent = new UpstreamAgent(upstream, () => inside.end())
    this.#connections.set(inside, { connection, upstream, agent, queue: new SerialQueue() })
    const closed = new Promise<void>((resolve) => inside.once('close', () => resolve()))
    this.#server.emit('connection', inside)
    await closed
    agent.destroy()
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const served = this.#connections.get(request.socket)
    if (served === undefined) request.socket.destroy()
    else served.queue.run(() => answerWhole(served, request, response)).catch(() => request.socket.destroy())
  }

  #switch(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const served = this.#connections.get(socket)
    socket.on('error', () => socket.destroy())
    if (served === undefined) socket.destroy()
    else served.queue.run(() => forwardUpgrade(served, { request, socket, head })).catch(() => socket.destroy())
  }
}

/**
 * Sends the requests of one connection one after another over one upstream connection. If the
 * upstream ends it between two requests, the runtime's connection ends, too. The program handles
 * that as it would without a gateway.
 */
class UpstreamAgent extends Agent {
  readonly #upstream: Upstream
  readonly #onIdleEnd: () => void

  constructor(upstream: Upstream, onIdleEnd: () => void) {
    super({ keepAlive: true, maxSockets: 1, maxFreeSockets: 1 })
    this.#upstream = upstream
    this.#onIdleEnd = onIdleEnd
  }

  override createConnection(_options: object, done?: (error: Error | null, stream: Duplex) => void): undefined {
    this.#upstream.connect().then(
      (socket) => {
        socket.once('close', () => this.#onIdleEnd())
        done?.(null, socket)
      },
      // The type requires a stream beside the error, but Node uses only the error.
      (error: Error) => done?.(error, undefined as unknown as Duplex),
    )
    return undefined
  }
}

/**
 * Answers a request, and resolves when its program has received the response. The next response is
 * written to the same socket.
 */
async function answerWhole(served: Http1Connection, request: IncomingMessage, response: ServerResponse): Promise<void> {
  await forwardRequest(served, request, response)
  if (response.writableEnded) await finished(response)
}

function answerBroken(socket: Duplex): void {
  const body = refusalBody({ reason: 'bad_http', message: 'The request is not well formed.' })
  if (socket.writable)
    socket.end(
      `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    )
  else socket.destroy()
}
