import { ownText } from '@holt/async'
import type { Route } from '@holt/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OpenEntry } from '../../foundation/request/audit-entry.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import type { Tenancy } from '../tenancy.ts'
import { auditKindOf } from './audited-route.ts'

/**
 * The maximum number of characters of a path parameter that are kept. Ids and names are shorter.
 */
const maxParamLength = 200

interface Audited {
  readonly name: string
  readonly route: Route
  readonly caller: Caller
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** True if the entry is held, because another host may answer the request and write it. */
  readonly held?: boolean
}

/**
 * Begins the audit entry of a request, which ends when its response closes. Returns null if the
 * route only reads.
 */
export function auditRequest(service: Tenancy, { name, route, held = false, ...parts }: Audited): OpenEntry | null {
  const kind = auditKindOf(route)
  if (kind === null) return null
  return beginEntry(service, { ...parts, name, kind, held: held || route.hasDryRun === true })
}

interface Entered extends Omit<Audited, 'route' | 'caller'> {
  readonly caller: Pick<Caller, 'projectId' | 'keyId' | 'keyName'>
  readonly kind: OpenEntry['kind']
  readonly held?: boolean
}

/** Begins the audit entry of a request that changes something. The entry ends with its response. */
export function beginEntry(
  { audit, ownCalls }: Tenancy,
  { name, kind, held = false, caller, request, reply }: Entered,
): OpenEntry {
  const { projectId, keyId, keyName } = caller
  const call = {
    projectId,
    kind,
    key: { keyId, name: keyName },
    // The address of a client that has disconnected is unknown.
    address: ownCalls.senderOf(request) ?? 'unknown',
    route: name,
    params: auditedParams(request.params as Readonly<Record<string, string>>),
    requestId: request.id,
  }
  const entry = audit.begin(call, { held })
  const response = reply.raw
  response.once('close', () => audit.end(entry, response.headersSent ? response.statusCode : null))
  return entry
}

/**
 * Returns a path's parameters as the log keeps them: cut to the length of ids and names, and
 * storable in every store.
 */
export function auditedParams(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, ownText(value.slice(0, maxParamLength).replaceAll('\0', ''))]),
  )
}
