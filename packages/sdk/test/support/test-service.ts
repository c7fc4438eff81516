import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ErrorCode,
  type Event,
  HoltError,
  type NetworkLogItem,
  type Readiness,
  type Route,
  type RouteName,
  routes,
  type WatchItem,
} from '@holt/protocol'
import { handlers } from './handlers.ts'
import { TestInterpreter } from './interpreter/test-interpreter.ts'
import type { TestProcess } from './processes.ts'
import { readyHost, readyTemplate } from './samples.ts'
import type { TestBuild } from './test-build.ts'

/** A request as a handler gets it: parsed by the route's own schemas. */
export interface TestCall {
  readonly service: TestService
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly bytes: Buffer
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** A fault of the service: it does this in place of an answer, or besides. */
export interface Fault {
  readonly route: RouteName
  /**
   * `refuse`: answer an error. `lose`: do it, then cut the connection without an answer. `cut`: end
   * a stream after some items.
   */
  readonly type: 'refuse' | 'lose' | 'cut' | 'hang'
  readonly code?: ErrorCode
  readonly headers?: Readonly<Record<string, string>>
  readonly items?: number
  readonly details?: Readonly<Record<string, unknown>>
}

/**
 * A service that speaks the contract: runtimes are folders, commands are processes of this machine.
 * Answers are checked by schema.
 */
export class TestService {
  readonly key = 'holt_test'
  readonly calls: { route: RouteName; headers: IncomingMessage['headers']; body: unknown }[] = []
  readonly faults: Fault[] = []
  readonly runtimes = new Map<string, Record<string, unknown>>()
  readonly snapshots = new Map<string, Record<string, unknown>>()
  /** The errors of the next children of forks. */
  readonly childErrors: { readonly code: string; readonly message: string; readonly hint: string }[] = []
  readonly processes = new Map<string, TestProcess>()
  readonly sessions = new Map<string, Record<string, unknown>>()
  readonly keys = new Map<string, Record<string, unknown>>()
  readonly joinTokens = new Map<string, Record<string, unknown>>()
  readonly projects = new Map<string, Record<string, unknown>>()
  /** The scopes of the key in use. */
  scopes: readonly string[] = ['admin', 'operator']
  readonly policies = new Map<string, Record<string, unknown>>()
  readonly secrets = new Map<string, Record<string, unknown>>()
  readonly events: Event[] = []
  readonly webhooks = new Map<string, Record<string, unknown>>()
  /** The deliveries to webhooks, newest first. */
  readonly deliveries: Record<string, unknown>[] = []
  /** The failure of a test of a webhook, if it is not delivered. */
  tested: Record<string, unknown> = {}
  readonly audit: Record<string, unknown>[] = []
  readonly providers = new Map<string, Record<string, unknown>>()
  /** The network policy of each runtime. */
  readonly networks = new Map<string, Record<string, unknown> | null>()
  /** The network log of every runtime. */
  readonly decisions: NetworkLogItem[] = []
  readonly replays = new Map<string, unknown>()
  /** The ports that something listens on in every runtime, and how often tokens were rotated. */
  readonly listening = new Set<number>()
  generation = 0
  host = readyHost()
  template: Record<string, unknown> = readyTemplate()
  /** Templates that builds made, by id. */
  readonly templates = new Map<string, Record<string, unknown>>()
  readonly builds = new Map<string, TestBuild>()
  /** The code interpreter of every runtime; null if they have none. */
  interpreter: TestInterpreter | null = new TestInterpreter()
  /** The contexts that were sent, by id. */
  readonly contexts = new Map<string, Buffer>()
  /** The behaviour of a new build. */
  script: (build: TestBuild) => void | Promise<void> = (build) => build.succeed()
  ready = true
  /** The isolation classes that the readiness tells. */
  isolation: Readiness['isolation'] = {}
  /** True if the `exit` of a command carries its final state. An older service leaves it out. */
  tellsEnd = true
  /** The most bytes that one write to a stdin takes. */
  stdinPieceBytes = Number.POSITIVE_INFINITY
  /** Sent instead of any archive, as a hostile runtime would. */
  archive: Buffer | null = null
  /** The items of watches. `changed` reports new ones. */
  readonly changes: WatchItem[] = []
  readonly changed = new EventEmitter()
  /** Hears of each call before it is answered. */
  onCall: (route: RouteName) => void = () => undefined
  readonly folder: string
  readonly #server: Server
  readonly #answers = new Map<string, TestAnswer>()

  constructor(folder: string) {
    this.folder = folder
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** How often a route was called. */
  count(route: RouteName): number {
    return this.calls.filter((call) => call.route === route).length
  }

  /** Returns the path on this machine for a path of a runtime. */
  place(runtimeId: string | undefined, path: string): string {
    return join(this.folder, runtimeId ?? '', path)
  }

  async listen(port = 0): Promise<void> {
    await once(this.#server.listen(port, '127.0.0.1'), 'listening')
  }

  async close(): Promise<void> {
    for (const process of this.processes.values()) process.kill('SIGKILL')
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
    await rm(this.folder, { recursive: true, force: true })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    try {
      const { name, route, params, url } = findRoute(request)
      if (route.scope !== null && request.headers.authorization !== `Bearer ${this.key}`)
        throw new HoltError('unauthenticated', 'No valid key')
      const body = route.body.type === 'json' ? parse(route.body.schema, JSON.parse(bytes.toString())) : undefined
      const query =
        route.query === undefined
          ? {}
          : (parse(route.query, Object.fromEntries(url.searchParams), '/query') as Record<string, unknown>)
      this.calls.push({ route: name, headers: request.headers, body })
      this.onCall(name)
      const fault = this.#takeFault(name)
      if (fault?.type === 'hang') return
      if (fault?.type === 'refuse') {
        for (const [header, value] of Object.entries(fault.headers ?? {})) response.setHeader(header, value)
        throw new HoltError(fault.code ?? 'unavailable', 'A fault of the test', { details: { ...fault.details } })
      }
      if (fault?.type === 'cut') response.locals = { itemsLeft: fault.items ?? 0 }
      const key = route.method === 'POST' ? request.headers['idempotency-key'] : undefined
      const kept = this.#answers.get(String(key))
      const answer = kept ?? (await handlers[name]({ service: this, params, query, body, bytes, request, response }))
      if (key !== undefined && answer !== undefined) this.#answers.set(String(key), answer)
      if (fault?.type === 'lose') response.destroy()
      else if (answer !== undefined) sendAnswer(response, route, answer)
    } catch (error) {
      sendError(response, error)
    }
  }

  #takeFault(name: RouteName): Fault | undefined {
    const index = this.faults.findIndex((fault) => fault.route === name)
    return index === -1 ? undefined : this.faults.splice(index, 1)[0]
  }
}

/** The answer of a handler; undefined if it has written the answer itself. */
export type TestAnswer = { readonly status: number; readonly json?: unknown } | undefined

declare module 'node:http' {
  interface ServerResponse {
    locals?: { itemsLeft: number }
  }
}

/** Starts a service on a free port of the loopback. */
export async function startTestService(): Promise<TestService> {
  const service = new TestService(await mkdtemp(join(tmpdir(), 'holt-test-service-')))
  await service.listen()
  return service
}

function findRoute(request: IncomingMessage) {
  const url = new URL(request.url ?? '/', 'http://localhost')
  for (const [name, route] of Object.entries(routes) as [RouteName, Route][]) {
    const pattern = new RegExp(`^${route.path.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
    const match = pattern.exec(url.pathname)
    if (match === null || route.method !== request.method) continue
    const params = Object.fromEntries(
      Object.entries(match.groups ?? {}).map(([key, value]) => [key, decodeURIComponent(value)]),
    )
    return { name, route, params, url }
  }
  throw new HoltError('route_not_found', `No route ${request.method} ${url.pathname}`)
}

function parse(schema: NonNullable<Route['query']>, value: unknown, prefix = ''): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map(({ path, message }) => ({ pointer: `${prefix}/${path.join('/')}`, message }))
  const named = issues.map(({ pointer, message }) => `${pointer} ${message}`).join('; ')
  throw new HoltError('invalid_request', `The request is not valid: ${named}.`, { details: { issues } })
}

function sendAnswer(response: ServerResponse, route: Route, answer: NonNullable<TestAnswer>): void {
  const described = route.answers[answer.status]
  if (described === undefined) throw new Error(`${route.summary} has no answer ${answer.status}`)
  if (described.type === 'json') described.schema.parse(answer.json)
  response.writeHead(answer.status, { 'content-type': 'application/json', 'x-request-id': 'rqtest' })
  response.end(described.type === 'json' ? JSON.stringify(answer.json) : undefined)
}

function sendError(response: ServerResponse, error: unknown): void {
  const known = error instanceof HoltError ? error : new HoltError('internal', String(error))
  const { code, message, hint, details } = known
  response.writeHead(known.status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { code, message, hint, details, request_id: 'rq00000000000000000000' } }))
}
