import type { Socket } from 'node:net'
import { attachProtocol, isIdParam, routes } from '@holt/protocol'
import type { Caller } from '../../foundation/request/caller.ts'
import { connectionFacts } from '../../foundation/request/vouch.ts'
import { apiAnswerHeaders } from '../../foundation/wire/api-answer-headers.ts'
import { breakOff } from '../../foundation/wire/break-off.ts'
import { endToEndHeaders } from '../../foundation/wire/end-to-end-headers.ts'
import type { Forwarder } from '../../foundation/wire/forwarder.ts'
import type { Upgrade } from '../../foundation/wire/upgrades.ts'
import { requireScope } from '../../tenancy/auth/authenticate.ts'
import { isCredentialHeader, isFleetHeader } from '../../tenancy/auth/credential-headers.ts'
import type { Inside } from '../inside.ts'
import { requireHandshake } from './handshake.ts'

const runtimePart = /^\/v1\/agents\/runtime\/(\w+)\//

/**
 * Forwards an attachment to the owner of its runtime, without the key of the client. Returns false
 * if this host answers.
 */
export async function forwardAttachment(
  service: Inside,
  forwarder: Forwarder,
  { request, socket, head, requestId, caller }: Upgrade & { readonly caller: Caller },
): Promise<boolean> {
  const [, id = ''] = runtimePart.exec(request.url ?? '') ?? []
  const owned = { type: 'runtime', projectId: caller.projectId, id, wakes: 'request' } as const
  if (!isIdParam('runtime_id', id) || !(await forwarder.isElsewhere(owned))) return false
  requireScope(caller, routes.attachCommand.scope)
  requireHandshake(request.headers)
  const client = socket as Socket
  client.setTimeout(0)
  service.streams.add(caller, client, () => breakOff(client))
  // The subprotocols may contain the client's key. `requireHandshake` has checked the rest.
  const offered = request.headers['sec-websocket-protocol']?.split(',').map((name) => name.trim()) ?? []
  const headers = endToEndHeaders(
    request,
    (name) => isCredentialHeader(name) || isFleetHeader(name) || name === 'sec-websocket-protocol',
  )
  const status = await forwarder.forwardUpgrade({
    owned,
    request,
    target: request.url ?? '/',
    headers: offered.includes(attachProtocol) ? [...headers, 'Sec-WebSocket-Protocol', attachProtocol] : headers,
    answerHeaders: apiAnswerHeaders,
    vouch: {
      requestId,
      ...connectionFacts(request),
      caller,
      visit: null,
    },
    traceparent: null,
    isBulk: true,
    socket,
    head,
    upgrade: 'websocket',
  })
  return status !== null
}
