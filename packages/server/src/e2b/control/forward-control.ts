import { isIdParam } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import type { OpenEntry } from '../../foundation/request/audit-entry.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { connectionFacts } from '../../foundation/request/vouch.ts'
import { apiAnswerHeaders } from '../../foundation/wire/api-answer-headers.ts'
import { endToEndHeaders } from '../../foundation/wire/end-to-end-headers.ts'
import type { Forwarder, Owned } from '../../foundation/wire/forwarder.ts'
import { isCredentialHeader, isFleetHeader } from '../../tenancy/auth/credential-headers.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import type { ControlRoute } from './control-call.ts'

/** An admitted request to the control plane that another host may answer. */
export interface ForwardedControl {
  readonly asked: E2bRequest
  readonly caller: Caller
  readonly entry: OpenEntry | null
  /** The headers of this host for the client. */
  readonly headers: Readonly<Record<string, string>>
}

/** Returns the runtime of a request. Null: its path names none, or no valid id. */
export function ownedBy(
  { wakes }: Pick<ControlRoute, 'wakes'>,
  { projectId }: Caller,
  { sandboxID: id }: Readonly<Record<string, string>>,
): Owned | null {
  if (id === undefined || !isIdParam('runtime_id', id)) return null
  return { type: 'runtime', projectId, id, ...(wakes ? { wakes: 'resume' as const } : {}) }
}

/**
 * Forwards a request to the owner of its runtime, or to the host that it is placed on. The client's
 * key stays here, and the other host writes the audit entry. Returns false if nothing was sent,
 * because this host answers by now.
 */
export async function forwardControl(
  service: Api,
  forwarder: Forwarder,
  { asked, caller, entry, headers, owned, body }: ForwardedControl & { readonly owned: Owned; readonly body?: Buffer },
): Promise<boolean> {
  const { request, response, requestId } = asked
  service.streams.add(caller, response, () => response.destroy())
  const hides = (name: string) => {
    const isOfBody = body !== undefined && name === 'content-length'
    return isOfBody || isCredentialHeader(name) || isFleetHeader(name) || name === 'expect' || name === 'x-request-id'
  }
  const status = await forwarder.forward({
    ...{ owned, request, response, target: request.url ?? '/', headers: endToEndHeaders(request, hides) },
    answerHeaders: apiAnswerHeaders,
    ...(body === undefined ? {} : { body }),
    vouch: {
      requestId,
      ...connectionFacts(request),
      caller,
      visit: null,
      surface: 'e2b',
    },
    traceparent: null,
    isBulk: false,
    beforeAnswer: () => {
      if (entry !== null) service.audit.drop(entry)
      return headers
    },
  })
  return status !== null
}
