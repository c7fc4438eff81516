import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Session } from '../session/session.ts'
import { HttpSessions, type SessionLimits, type StoredSession } from './http-sessions.ts'
import { withEnd } from './with-end.ts'

/** The sender of a request, whose key was checked. */
export interface HttpCaller {
  readonly keyId: string
  /** Identifies the key's secret. It is not the secret itself. */
  readonly owner: string
  /** The session of the sender: the reach of its key, or one runtime. */
  readonly session: Session
}

/** The default limits: a client has one session, and a person a few clients. */
export const sessionLimits: SessionLimits = { maxPerKey: 64, max: 1024, idleMs: 30 * 60_000 }

/** The interval between two searches for idle sessions, in milliseconds. */
const sweepMs = 60_000

/** A session of a client that opened it with `initialize`. */
interface OpenSession extends StoredSession {
  readonly transport: WebStandardStreamableHTTPServerTransport
}

/**
 * Serves the protocol over HTTP to clients of every revision. A request of 2026-07-28 stands alone.
 * Clients of earlier revisions open a session, by which they can cancel a call. The endpoint checks
 * no key and no origin: its caller does.
 */
export class McpEndpoint {
  readonly #make: (session: Session) => McpServer
  readonly #sessions: HttpSessions<OpenSession>
  readonly #modern: McpHttpHandler
  readonly #timer: NodeJS.Timeout

  /** `make` makes a server for the reach of one sender. */
  constructor(make: (session: Session) => McpServer, limits: SessionLimits = sessionLimits) {
    this.#make = make
    this.#sessions = new HttpSessions(limits)
    this.#modern = createMcpHandler(({ authInfo }) => make(callerOf(authInfo).session), { legacy: 'reject' })
    this.#timer = setInterval(() => this.#sessions.sweep(), Math.min(sweepMs, limits.idleMs)).unref()
  }

  /** The number of open sessions. */
  get sessions(): number {
    return this.#sessions.size
  }

  /** Answers a request. `body` is its parsed JSON; undefined if it has none. */
  async answer(request: Request, body: unknown, caller: HttpCaller): Promise<Response> {
    if (await isLegacyRequest(request, body)) return this.#answerInSession(request, body, caller)
    const authInfo = { token: '', clientId: caller.keyId, scopes: [], extra: { caller } }
    return this.#modern.fetch(request, { authInfo, parsedBody: body })
  }

  /** Ends every session and every call. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all([this.#sessions.close(), this.#modern.close()])
  }

  async #answerInSession(request: Request, body: unknown, caller: HttpCaller): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id === null) return isInitialize(body) ? this.#open(request, body, caller) : refusal(400, noSession)
    const session = this.#sessions.find(id, caller.owner)
    if (session === null) return refusal(404, unknownSession)
    const use = this.#sessions.use(id)
    return withEnd(await session.transport.handleRequest(request, { parsedBody: body }), () => use[Symbol.dispose]())
  }

  async #open(request: Request, body: unknown, { keyId, owner, session }: HttpCaller): Promise<Response> {
    this.#sessions.makeRoom(keyId)
    const server = this.#make(session)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => this.#sessions.add(id, { keyId, owner, transport, close: () => server.close() }),
      onsessionclosed: (id) => this.#sessions.delete(id),
    })
    await server.connect(transport)
    return withEnd(await transport.handleRequest(request, { parsedBody: body }), () =>
      this.#endIfRefused(server, transport),
    )
  }

  /** Ends the server of an `initialize` that opened no session. */
  #endIfRefused(server: McpServer, { sessionId }: WebStandardStreamableHTTPServerTransport): void {
    if (sessionId === undefined) server.close().catch(() => undefined)
  }
}

const noSession = {
  code: -32_000,
  message: 'Bad Request: the header Mcp-Session-Id is missing. Send initialize first.',
}
const unknownSession = { code: -32_001, message: 'Session not found' }

function refusal(status: number, error: { readonly code: number; readonly message: string }): Response {
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status })
}

function isInitialize(body: unknown): boolean {
  return [body].flat().some((one) => (one as { readonly method?: unknown } | null)?.method === 'initialize')
}

function callerOf(authInfo: { readonly extra?: Record<string, unknown> } | undefined): HttpCaller {
  return authInfo?.extra?.caller as HttpCaller
}
