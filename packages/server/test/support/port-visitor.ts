import { createServer, type IncomingHttpHeaders, type RequestListener, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { FakeEngine } from '@holt/engine-testkit/fake'
import { startTestServer, type TestServer } from './start-test-server.ts'

/** A request to a port, as it goes over the wire. */
export interface VisitRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string
}

/** The answer. */
interface Visited {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly trailers: NodeJS.Dict<string>
  readonly text: string
  readonly code: string | undefined
}

/** A server with a runtime in it, and the ways to its ports. */
export interface PortServer extends TestServer {
  readonly id: string
  /** The path of the port in the API. */
  port(port: number | string): string
  /** The facts of a port in the API. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  get(port: number, query?: string): Promise<any>
  /** Lets an HTTP program listen inside. */
  program(port: number, listener: RequestListener, runtimeId?: string): ReturnType<typeof createServer>
  /** Asks by host form: `host` is the whole Host header. */
  byHost(host: string, path: string, how?: VisitRequest): Promise<Visited>
  byPath(port: number | string, path: string, how?: VisitRequest): Promise<Visited>
  hostOf(port: number | string): string
  /** Opens a connection and sends bytes as they are. */
  raw(bytes: string): Socket
}

/** Starts a server over a fake engine, with one runtime. */
export async function startPortServer(options: Parameters<typeof startTestServer>[0] = {}): Promise<PortServer> {
  const server = await startTestServer(options)
  const id = await server.makeRuntime()
  const { hostname, port: servicePort } = new URL(server.server.url)
  const port = (number: number | string) => `/v1/agents/runtime/${id}/ports/${number}`
  const visit = (path: string, { method = 'GET', headers = {}, body }: VisitRequest) =>
    new Promise<Visited>((resolve, reject) => {
      const outgoing = request({
        hostname,
        port: servicePort,
        method,
        path,
        headers,
        agent: false,
        setHost: headers.host === undefined,
      })
      outgoing.once('error', reject)
      outgoing.once('response', (answer) => {
        text(answer).then((body) => {
          const { headers, trailers, statusCode: status = 0 } = answer
          resolve({ status, headers, trailers, text: body, code: codeOf(body) })
        }, reject)
      })
      outgoing.end(body)
    })
  return {
    ...server,
    id,
    port,
    hostOf: (number) => `${number}-${id}.localhost:${servicePort}`,
    get: async (number, query = '') => (await server.ask('GET', port(number) + query)).json,
    program: (number, listener, runtimeId = id) => listen(server.engine, { port: number, runtimeId, listener }),
    byHost: (host, path, how = {}) => visit(path, { ...how, headers: { ...how.headers, host } }),
    byPath: (number, path, how = {}) => visit(`${port(number)}/proxy${path}`, how),
    raw: (bytes) => {
      const socket = connect(Number(servicePort), hostname)
      socket.on('error', () => {})
      socket.write(bytes)
      return socket
    },
  }
}

function listen(
  engine: FakeEngine,
  { port, runtimeId, listener }: { port: number; runtimeId: string; listener: RequestListener },
) {
  const program = createServer(listener)
  engine.guest(runtimeId)?.ports.listen(port, (connection) => program.emit('connection', connection))
  return program
}

function codeOf(body: string): string | undefined {
  try {
    return JSON.parse(body).error?.code
  } catch {
    return undefined // Not every answer is an error of the contract.
  }
}
