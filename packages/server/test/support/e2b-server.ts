import { type IncomingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { parseConfig, type ServerOptions } from '../../src/index.ts'
import { startTestServer, type TestServer } from './start-test-server.ts'
import { newStateDir, testDatabase } from './test-store.ts'

/** A request as a client of E2B sends it. */
interface E2bAsk {
  /** The Host header. Default: the address of the service. */
  readonly host?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly json?: unknown
  readonly body?: string
  /** The API key. Null sends none. Default: the admin key. */
  readonly key?: string | null
}

/** The answer to it. */
interface E2bAnswered {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any
}

/** A server with the entry for E2B's clients. */
export interface E2bServer extends TestServer {
  /** Sends a request as a client of E2B does. */
  e2b(method: string, path: string, ask?: E2bAsk): Promise<E2bAnswered>
}

/** Starts a server over a fake engine, with the entry for E2B's clients. */
export async function startE2bServer(
  env: Readonly<Record<string, string>> = {},
  options: Partial<ServerOptions> = {},
): Promise<E2bServer> {
  const stateDir = await newStateDir()
  const settings = { HOLT_STATE_DIR: stateDir, HOLT_PORT: '0', HOLT_POOL_MAX: '0', HOLT_E2B: 'on', ...env }
  const config = { ...parseConfig(settings), ...(await testDatabase(stateDir)) }
  const server = await startTestServer({ ...options, config }, stateDir)
  return withE2b(server)
}

/** Returns a server with a client of E2B. */
export function withE2b(server: TestServer): E2bServer {
  return { ...server, e2b: (method, path, ask = {}) => send(server, { method, path, ask }) }
}

function send(
  { server }: TestServer,
  { method, path, ask }: { method: string; path: string; ask: E2bAsk },
): Promise<E2bAnswered> {
  const { host, headers = {}, json, body = json === undefined ? undefined : JSON.stringify(json), key } = ask
  const { hostname, port } = new URL(server.url)
  const sentKey = key === undefined ? server.adminKey : key
  const all = {
    ...(host === undefined ? {} : { host }),
    ...(sentKey === null ? {} : { 'X-API-KEY': sentKey }),
    ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers: all, agent: false }, (answer) => {
      text(answer).then((received) => {
        const { statusCode: status = 0, headers: answered } = answer
        resolve({ status, headers: answered, text: received, json: parse(received) })
      }, reject)
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // Not every answer is JSON.
  }
}
