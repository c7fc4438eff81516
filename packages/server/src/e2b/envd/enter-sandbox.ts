import {
  admissionOf,
  ConnectError,
  changeOf,
  type EnvdRouteName,
  type PollingWatchers,
  requireSignature,
  sandboxGone,
  signedAddress,
  type VisitedSandbox,
} from '@holt/e2b'
import type { Api } from '../../api/api.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { isSameSecret } from '../../foundation/sealing/is-same-secret.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { auditCall } from '../answers/audit-call.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { findSandbox } from '../sandbox/find-sandbox.ts'
import { beginVisit } from '../sandbox/sandbox-visit.ts'
import { findSigned } from './find-signed.ts'
import { insideOf } from './open-inside.ts'

/** The largest message of an RPC, in bytes: that of a JSON body of Holt's own API. */
const maxMessageBytes = 4 * 1024 * 1024

/** A request for the commands and files of a runtime. */
export interface EnvdAsked {
  readonly asked: E2bRequest
  readonly route: EnvdRouteName
  /** Null for a signed address that names no runtime. */
  readonly sandboxId: string | null
  /** The watchers that the clients of the service poll. */
  readonly watchers: PollingWatchers
}

/** A runtime to which a request was admitted. The request counts until `work` is disposed of. */
interface EnteredSandbox {
  readonly visited: VisitedSandbox
  readonly work: Disposable
}

/**
 * Admits a request to its runtime: checks its token or signature, and counts it. A request that may
 * change something is in the audit log.
 */
export async function enterSandbox(
  service: Api,
  accounts: RequestAccounts,
  entered: EnvdAsked,
): Promise<EnteredSandbox> {
  const { asked } = entered
  const { row, by } = await findAdmitted(service, entered)
  const change = changeOf(asked.path, entered.route)
  if (change !== null) {
    const { project_id: projectId, runtime_id } = row
    // The token is of the runtime, and no key is known.
    auditCall(service, asked, { projectId, kind: 'inside', key: null, route: change, params: { runtime_id } })
  }
  const visit = await beginVisit(service, accounts, { asked, row, isStranger: by === 'nothing' })
  const { request: kept, room: bodies, payer } = accounts.open(row.project_id, visit.end)
  const { bodyTimeoutMs, quietBodyMs: quietMs } = service.limits
  const keep = (bytes: number) => kept.take(bytes)
  const room = {
    take: (bytes: number) => bodies.take(payer, bytes),
    give: (bytes: number) => bodies.give(payer, bytes),
  }
  const visited = {
    sandboxId: row.runtime_id,
    bySignature: by === 'signature',
    limits: { maxMessageBytes, bodyTimeoutMs, quietMs, keep, room },
    watchers: entered.watchers,
    gone: visit.gone,
    open: async () => insideOf(visit, await visit.guest(), keep),
  }
  return { visited, work: visit.end.work() }
}

interface Admitted {
  readonly row: RuntimeRow
  /** The permission that admits the request. `nothing`: the route is for everybody. */
  readonly by: 'token' | 'signature' | 'nothing'
}

/** Returns the runtime of a request that may visit it. Counts wrong tokens for their address. */
async function findAdmitted(service: Api, entered: EnvdAsked): Promise<Admitted> {
  try {
    return await admitToSandbox(service, entered)
  } catch (error) {
    if (error instanceof ConnectError) service.rates.noteFailure(clientAddress(entered.asked.request))
    throw error
  }
}

/**
 * Returns the runtime of a request that may visit it, and the permission. Throws `ConnectError` for
 * a wrong token or signature.
 */
export async function admitToSandbox(service: Api, { asked, route, sandboxId }: EnvdAsked): Promise<Admitted> {
  const { request } = asked
  const row = sandboxId === null ? null : await findSandbox(service, sandboxId)
  const text = request.headers['x-access-token']
  const hasToken =
    row !== null && typeof text === 'string' && isSameSecret(await service.runtimeTokens.sandbox('envd', row), text)
  const admission = admissionOf(route)
  if (row !== null && hasToken) return { row, by: 'token' }
  if (row !== null && admission === 'none') return { row, by: 'nothing' }
  if (admission !== 'signature' || text !== undefined)
    throw new ConnectError('unauthenticated', 'The header X-Access-Token must be the token of this sandbox.')
  return { row: await findBySignature(service, asked, row), by: 'signature' }
}

async function findBySignature(
  service: Api,
  { request, query: text }: E2bRequest,
  named: RuntimeRow | null,
): Promise<RuntimeRow> {
  const query = new URLSearchParams(text)
  const signature = query.get('signature')
  const address = signedAddress(request.method === 'POST' ? 'write' : 'read', query)
  // A trial of all tokens is work that a stranger causes.
  if (named === null) service.rates.requireFewFailures(clientAddress(request))
  const row = named ?? (signature === null ? undefined : await findSigned(service, { signature, address }))
  const token = row === undefined ? '' : await service.runtimeTokens.sandbox('envd', row)
  // No runtime: no token could have made the signature.
  if (row === undefined && signature !== null) throw new ConnectError('unauthenticated', 'invalid signature')
  requireSignature(signature, address, { token, nowMs: service.now() })
  if (row === undefined) throw sandboxGone('')
  return row
}
