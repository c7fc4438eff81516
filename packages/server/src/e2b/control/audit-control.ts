import type { ControlMatch } from '@holt/e2b'
import type { Api } from '../../api/api.ts'
import type { OpenEntry } from '../../foundation/request/audit-entry.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { auditedParams } from '../../tenancy/audit/audit-request.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import type { ControlRoute } from './control-call.ts'

/**
 * Begins the audit entry of a request, which ends when its response closes. Returns null if the
 * route only reads.
 */
export function auditControl(
  { audit }: Api,
  { match, route, caller, asked }: { match: ControlMatch; route: ControlRoute; caller: Caller; asked: E2bRequest },
): OpenEntry | null {
  if (route.reads) return null
  const { request, response, requestId } = asked
  const { sandboxID, templateID } = match.params
  const entry = audit.begin({
    projectId: caller.projectId,
    kind: 'change',
    key: { keyId: caller.keyId, name: caller.keyName },
    // The address of a client that has disconnected is unknown.
    address: request.socket.remoteAddress ?? 'unknown',
    route: `e2b.${match.name}`,
    params: auditedParams({
      ...(sandboxID === undefined ? {} : { runtime_id: sandboxID }),
      ...(templateID === undefined ? {} : { template_id: templateID }),
    }),
    requestId,
  })
  response.once('close', () => audit.end(entry, response.headersSent ? response.statusCode : null))
  return entry
}
