import { Readable } from 'node:stream'
import type { HttpCaller, McpEndpoint } from '@holt/mcp'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { version } from '../../foundation/config/version.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { noteCaller } from '../../foundation/request/request-context.ts'
import { ClientGone } from '../../foundation/wire/client-gone.ts'
import { RequestEnd } from '../../foundation/wire/request-end.ts'
import { authenticate } from '../../tenancy/auth/authenticate.ts'
import { sentDigest } from '../../tenancy/auth/key-secret.ts'
import type { Api } from '../api.ts'
import { recognise } from '../http/connections.ts'
import { mcpRoute } from '../http/create-app.ts'
import { goneSignal } from '../http/gone-signal.ts'
import { type KeptFor, readJson } from '../http/read-json.ts'
import { callerOf } from '../http/register-routes.ts'
import type { RequestAccounts } from '../http/request-accounts.ts'
import { sendAnswer } from '../http/send-answer.ts'
import { sessionOf } from './mcp-session.ts'
import { refuseForeignHost } from './refuse-foreign-host.ts'

/**
 * Serves the Model Context Protocol at `/mcp`, for the same keys as the API. Each tool calls the
 * API over this machine's loopback with the key of its client. So scopes, quotas, rates, audit and
 * events are the API's own, and `/mcp` can do nothing that its client could not do itself.
 */
export function serveMcp(app: FastifyInstance, service: Api, accounts: RequestAccounts): void {
  const endpoint = lazyEndpoint(service)
  app.route({
    method: [...mcpRoute.methods],
    url: mcpRoute.url,
    exposeHeadRoute: false,
    onRequest: async (request, reply) => {
      refuseForeignHost(service.config.mcpHosts, request.headers)
      const caller = await callerOf(service, request, reply, request.headers.authorization)
      noteCaller(caller)
      recognise(request.raw.socket, caller.projectId)
      const end = new RequestEnd(reply.raw)
      request.admitted = { caller, entry: null, end }
      accounts.inFlight.enter(caller.projectId, end)
    },
    handler: async (request, reply) => {
      if (request.admitted === null || reply.raw.destroyed) throw new ClientGone('the client disconnected')
      const { caller, end } = request.admitted
      using _work = end.work()
      const kept = accounts.open(caller.projectId, end)
      const response = await answer(service, { endpoint: await endpoint(), request, reply, caller, kept })
      return send(service, { response, request, reply, caller, kept })
    },
  })
}

/** Returns a function that loads the endpoint at its first call. It closes with the service. */
function lazyEndpoint(service: Api): () => Promise<McpEndpoint> {
  let loaded: Promise<McpEndpoint> | null = null
  const load = async () => {
    const { makeServer, McpEndpoint } = await import('@holt/mcp')
    const endpoint = new McpEndpoint((session) => makeServer(session, { version }))
    const close = () => {
      endpoint.close().catch((error: unknown) => service.log.debug({ err: error }, 'MCP sessions did not close'))
    }
    if (service.closing.aborted) close()
    else service.closing.addEventListener('abort', close, { once: true })
    return endpoint
  }
  return () => {
    loaded ??= load()
    return loaded
  }
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly caller: Caller
  readonly kept: KeptFor
}

async function answer(
  service: Api,
  { endpoint, request, reply, caller, kept }: Exchange & { readonly endpoint: McpEndpoint },
): Promise<Response> {
  const { method, headers, raw } = request
  const body = method === 'POST' ? await readJson(raw, kept, (json) => json) : undefined
  // A body may arrive slowly, and its key may have become invalid meanwhile.
  if (body !== undefined) await authenticate(service, headers.authorization)
  const session = await sessionOf(service, request, caller)
  const asked: HttpCaller = { keyId: caller.keyId, owner: sentDigest(headers.authorization) ?? '', session }
  const signal = goneSignal(service, reply.raw, caller)()
  return endpoint.answer(
    new Request(session.address + mcpRoute.url, { method, headers: plain(headers), signal }),
    body,
    asked,
  )
}

/** Returns the headers that the protocol reads. The key is not among them. */
function plain(headers: FastifyRequest['headers']): Headers {
  const read = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (typeof value === 'string' && /^(?:accept|content-type|last-event-id|mcp-.*)$/.test(name)) read.set(name, value)
  return read
}

function send(service: Api, { response, request, reply, caller, kept }: Exchange & { readonly response: Response }) {
  const { status, body } = response
  const headers = Object.fromEntries(response.headers)
  if (body === null) return reply.code(status).headers(headers).send()
  const answer = { status, bytes: Readable.fromWeb(body as never), headers: { ...headers, 'x-accel-buffering': 'no' } }
  return sendAnswer(service, { request, reply, answer, caller, isRepeatable: true, kept: kept.request })
}
