import { FakeEngine } from '@holt/engine-testkit/fake'
import { type Route, type RouteName, routes } from '@holt/protocol'
import { onTestFinished } from 'vitest'
import {
  type BaseSource,
  createServer,
  type Log,
  parseConfig,
  type Server,
  type ServerOptions,
} from '../../src/index.ts'
import { fleetSize, type OtherEntries, openOtherEntries } from './other-entries.ts'
import { RecordingGateway } from './recording-gateway.ts'
import { newStateDir, testDatabase } from './test-store.ts'
import { isAlone } from './tests-alone.ts'

/** The log entries at levels that operators read. */
export interface Logged {
  readonly level: 'warn' | 'error'
  readonly facts: { readonly err?: unknown }
  readonly message: string
}

/** A log that keeps warnings and errors. */
export function keepingLog(): { readonly log: Log; readonly logged: Logged[] } {
  const logged: Logged[] = []
  const keep = (level: Logged['level']) => (facts: object, message: string) =>
    void logged.push({ level, facts, message })
  return { log: { debug: () => {}, info: () => {}, warn: keep('warn'), error: keep('error') }, logged }
}

/** A base tree of a few bytes. */
export const tinySource: BaseSource = {
  name: 'a test',
  digest: async () => 'recipe-1',
  make: async ({ onProgress }) => {
    onProgress({ phase: 'testing', done: 1, total: 2 })
    return {
      tar: (async function* () {
        yield Buffer.from('a tree')
      })(),
      origin: 'a test, exactly',
      env: { PATH: '/bin', FROM_TEMPLATE: 'yes' },
      user: 'user',
      workdir: '/workspace',
      facts: { python: '3.13' },
      [Symbol.asyncDispose]: async () => {},
    }
  },
}

/** A request as tests write it. */
interface TestRequest {
  readonly json?: unknown
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array>
  readonly headers?: Record<string, string>
  /** Null sends none. */
  readonly key?: string | null
  readonly signal?: AbortSignal
}

/** An answer with its body read. */
interface TestAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any
}

/** A server over a fake engine, and a client of it. */
export interface TestServer {
  readonly server: Server
  readonly engine: FakeEngine
  readonly gateway: RecordingGateway
  readonly stateDir: string
  readonly logged: Logged[]
  ask(method: string, path: string, request?: TestRequest): Promise<TestAnswer>
  /** Makes a runtime and answers its id. */
  makeRuntime(body?: object): Promise<string>
  /** Makes a key with scopes and answers its secret. */
  makeKey(...scopes: string[]): Promise<{ key: string; key_id: string }>
  /** Ends the server; `restart` begins another. */
  close(): Promise<void>
  /** Lets go of a server that a test has killed: nobody waits for its end, which may never come. */
  abandon(): void
  /**
   * Ends the server without a word, as a crash would, and starts another over the same state and
   * engine.
   */
  restart(options?: Partial<ServerOptions>): Promise<TestServer>
}

/** The options of a test server: those of a server, each with a default. */
export interface TestServerOptions extends Partial<ServerOptions> {
  /**
   * The reason why the test is about this host's own things. It runs without the other hosts of
   * `HOLT_TEST_FLEET`.
   */
  readonly alone?: string
}

const nowhere = () => Promise.reject(new Error('nothing is outside'))

/** Starts a server that ends with the test. */
export async function startTestServer(options: TestServerOptions = {}, state?: string): Promise<TestServer> {
  const stateDir = state ?? (await newStateDir())
  const engine = (options.engine as FakeEngine | undefined) ?? new FakeEngine()
  const { log, logged } = keepingLog()
  const gateway = (options.outside?.gateway as RecordingGateway | undefined) ?? new RecordingGateway()
  const outside = options.outside ?? {
    gateway,
    dialTls: nowhere,
    dialWebhook: nowhere,
    registryNetwork: { connect: nowhere },
  }
  const config = {
    ...parseConfig({ HOLT_STATE_DIR: stateDir, HOLT_PORT: '0', HOLT_POOL_MAX: '0' }),
    ...(await testDatabase(stateDir)),
    ...options.config,
  }
  // Tests send wrong keys by the hundred.
  const failureRate = { perSec: 1e6, burst: 1e6 }
  const whole = { baseSource: tinySource, failureRate, log, ...options, config, engine, outside }
  const others = hasOthers(options) ? await openOtherEntries(whole) : null
  const server = await createServer(others?.first ?? whole)
  let closed = false
  const close = async () => {
    if (closed) return
    const ending = server.close()
    await (others === null ? ending : others.close(ending))
    closed = true
  }
  onTestFinished(close)
  await server.templatesMade
  await others?.start()
  const ask = (method: string, path: string, request: TestRequest = {}) =>
    askServer(entryOf(server, others, { method, path }), { method, path, request })
  return {
    server,
    engine,
    gateway,
    stateDir,
    logged,
    ask,
    makeRuntime: async (body = {}) => {
      const answer = await ask('POST', '/v1/agents/runtime', { json: body })
      if (answer.status !== 201) throw new Error(answer.text)
      return answer.json.runtime_id
    },
    makeKey: async (...scopes) => (await ask('POST', '/v1/agents/key', { json: { name: 'test', scopes } })).json,
    close,
    abandon: () => {
      closed = true
      const ending = server.close()
      void (others === null ? ending : others.close(ending)).catch(() => {})
    },
    restart: async (more: TestServerOptions = {}) => {
      await close()
      return startTestServer({ ...options, engine, ...more }, stateDir)
    },
  }
}

/** Returns true if a test server has other hosts beside it. A test of fleets makes its own. */
function hasOthers({ alone, peers, config }: TestServerOptions): boolean {
  return fleetSize > 1 && alone === undefined && !isAlone() && peers === undefined && (config?.fleet ?? null) === null
}

/** Returns the host that gets a request: a random one. */
function entryOf(
  server: Server,
  others: OtherEntries | null,
  { method, path }: { readonly method: string; readonly path: string },
): Server {
  if (others === null) return server
  const name = routeOf(method, path)
  return others.pick(server, name)
}

async function askServer(
  server: Server,
  { method, path, request }: { method: string; path: string; request: TestRequest },
): Promise<TestAnswer> {
  const { json, body, headers = {}, key = server.adminKey, signal } = request
  const response = await fetch(`${server.url}${path}`, {
    method,
    // Tests look at the answer of the route itself.
    redirect: 'manual',
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json === undefined ? (body === undefined ? {} : { body, duplex: 'half' }) : { body: JSON.stringify(json) }),
    ...(signal === undefined ? {} : { signal }),
  } as RequestInit)
  const text = await response.text()
  const answer = { status: response.status, headers: response.headers, text, json: parse(text) }
  checkAnswer(method, path, { ...answer, given: headers['x-request-id'] })
  return answer
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // Not every answer is JSON.
  }
}

/** Every answer that a test gets is held against the contract. */
function checkAnswer(method: string, path: string, answer: TestAnswer & { given: string | undefined }): void {
  const id = answer.headers.get('x-request-id')
  if (id !== answer.given && !/^rq[a-z0-9]{20}$/.test(id ?? '')) throw new Error(`${method} ${path}: no request id`)
  // The sessions of browsers are not in the table of routes.
  if (path.startsWith('/console/') && answer.status < 300) return
  const name = routeOf(method, path)
  const route: Route | null = name === null ? null : routes[name]
  const expected = route?.answers[answer.status]
  if (expected?.type === 'json' && answer.headers.get('content-type')?.startsWith('application/json') === true)
    expected.schema.parse(answer.json)
  else if (expected === undefined && answer.json?.error?.request_id !== answer.headers.get('x-request-id')) {
    throw new Error(
      `${method} ${path}: ${answer.status} is neither an answer of the route nor an error: ${answer.text}`,
    )
  }
}

/** The route that a request goes to. */
function routeOf(method: string, path: string): RouteName | null {
  const [bare = ''] = path.split('?', 1)
  for (const [name, route] of Object.entries<Route>(routes)) {
    if (route.method === method && new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(bare))
      return name as RouteName
  }
  return null
}
