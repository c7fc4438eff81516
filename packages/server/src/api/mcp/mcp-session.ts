import type { Session } from '@holt/mcp'
import { HoltError } from '@holt/protocol'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../foundation/request/caller.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import { parseQuery } from '../../foundation/wire/parse-query.ts'
import { sentSecret } from '../../tenancy/auth/key-secret.ts'
import type { Api } from '../api.ts'

/**
 * Returns the session of a request: with the reach of its key, or with `?runtime=NAME` that of one
 * runtime. Its client of the API reaches this service over loopback, with the sender's key.
 */
export async function sessionOf(service: Api, request: FastifyRequest, { scopes }: Caller): Promise<Session> {
  const runtime = runtimeOf(request)
  const apiKey = sentSecret(request.headers.authorization)
  if (apiKey === null) throw new HoltError('unauthenticated', 'The request has no API key.')
  const [{ existingRuntime, Session }, { Holt }] = await Promise.all([import('@holt/mcp'), import('@holt/sdk')])
  const own = service.ownCalls.headersFor(service.ownCalls.senderOf(request.raw))
  const holt = new Holt({
    url: service.addresses.service,
    apiKey,
    // A retry would hide the limits of the project from its client.
    maxRetries: 1,
    fetch: (input, init) => {
      const headers = new Headers(init?.headers)
      for (const [name, value] of Object.entries(own)) headers.set(name, value)
      // An idle connection would take two descriptors of this process.
      headers.set('connection', 'close')
      return fetch(input, { ...init, headers })
    },
  })
  const bound = runtime === null ? null : existingRuntime(holt, runtime)
  return new Session({ holt, scopes, bound, address: addressOf(request) })
}

function runtimeOf({ raw }: FastifyRequest): string | null {
  const query = parseQuery(raw.url ?? '/') as Readonly<Record<string, unknown>>
  for (const name of Object.keys(query))
    if (name !== 'runtime') throw invalidField(`/query/${name}`, 'is not a known field')
  const { runtime } = query
  if (runtime === undefined) return null
  if (typeof runtime === 'string' && runtime !== '') return runtime
  throw invalidField('/query/runtime', 'must be the id or the name of one runtime')
}

/** Returns the address at which the sender has reached the service. */
function addressOf({ headers }: FastifyRequest): string {
  const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  return `${scheme}://${headers.host ?? 'localhost'}`
}
