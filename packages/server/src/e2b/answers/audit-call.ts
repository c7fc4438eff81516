import type { Api } from '../../api/api.ts'
import type { OpenEntry } from '../../foundation/request/audit-entry.ts'
import { clientAddress } from '../../foundation/request/client-address.ts'
import type { AuditedCall } from '../../tenancy/audit/audit-log.ts'
import { auditedParams } from '../../tenancy/audit/audit-request.ts'
import type { E2bRequest } from './e2b-request.ts'

/** Begins the audit entry of a request, which ends when its response closes. */
export function auditCall(
  { audit }: Api,
  { request, response, requestId }: E2bRequest,
  {
    route,
    params,
    held = false,
    ...call
  }: Pick<AuditedCall, 'projectId' | 'kind' | 'key' | 'params'> & { readonly route: string; readonly held?: boolean },
): OpenEntry {
  const begun = {
    ...call,
    // The address of a client that has disconnected is unknown.
    address: clientAddress(request) ?? 'unknown',
    route: `e2b.${route}`,
    params: auditedParams(params),
    requestId,
  }
  const entry = audit.begin(begun, { held })
  response.once('close', () => audit.end(entry, response.headersSent ? response.statusCode : null))
  return entry
}
