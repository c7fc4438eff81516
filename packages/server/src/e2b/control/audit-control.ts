import type { ControlMatch } from '@holt/e2b'
import type { Api } from '../../api/api.ts'
import type { OpenEntry } from '../../foundation/request/audit-entry.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { auditCall } from '../answers/audit-call.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import type { ControlRoute } from './control-call.ts'

/**
 * Begins the audit entry of a request to the control plane. Returns null if the route only reads.
 * With `held`, another host may write it.
 */
export function auditControl(
  service: Api,
  {
    match,
    route,
    caller,
    asked,
    held,
  }: { match: ControlMatch; route: ControlRoute; caller: Caller; asked: E2bRequest; held: boolean },
): OpenEntry | null {
  if (route.reads) return null
  const { sandboxID, templateID } = match.params
  return auditCall(service, asked, {
    projectId: caller.projectId,
    kind: 'change',
    key: { keyId: caller.keyId, name: caller.keyName },
    route: match.name,
    params: {
      ...(sandboxID === undefined ? {} : { runtime_id: sandboxID }),
      ...(templateID === undefined ? {} : { template_id: templateID }),
    },
    held,
  })
}
