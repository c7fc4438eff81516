import { E2bError, portClosed, sandboxGone } from '@holt/e2b'
import { HoltError } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import { breakOff } from '../../foundation/wire/break-off.ts'
import { closeAfterLongBody } from '../../foundation/wire/drop-rest-of-body.ts'
import type { Forwarder } from '../../foundation/wire/forwarder.ts'
import { standingHeaders } from '../../foundation/wire/send-error.ts'
import { forwardVisit } from '../../inside/ports/forward-visit.ts'
import { visitPort } from '../../inside/ports/serve-ports.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { isGone } from '../sandbox/sandbox-visit.ts'
import { hidesFromHosts, type SandboxPort, sandboxWay } from './sandbox-way.ts'

/**
 * Forwards a request to a program inside a runtime, through the owner of the runtime. The
 * connection is cut when the runtime pauses or ends. `forwarder` is null if this host answers.
 */
export async function serveSandboxPort(
  service: Api,
  forwarder: Forwarder | null,
  { place, asked }: { readonly place: SandboxPort; readonly asked: E2bRequest },
): Promise<void> {
  const { request, response, requestId } = asked
  asked.route = 'port'
  const leave = service.visits.enter(place.sandboxId, () => breakOff(request.socket))
  try {
    const visit = { way: sandboxWay(service, place, request), request, response }
    const isForwarded =
      forwarder !== null && (await forwardVisit(service, forwarder, { ...visit, requestId, hides: hidesFromHosts }))
    if (!isForwarded) await visitPort(service, visit)
  } catch (error) {
    const failure = portError(place, error)
    if (response.headersSent || response.destroyed || !wantsPage(asked) || !isUnreachable(failure)) throw failure
    writePage(asked, failure)
  } finally {
    leave()
  }
}

/** Returns the error of a visit in the words by which clients tell such errors apart. */
export function portError({ sandboxId, port }: SandboxPort, error: unknown): unknown {
  if (isGone(error)) return sandboxGone(sandboxId)
  if (!(error instanceof HoltError)) return error
  if (error.code === 'port_not_listening') return portClosed(sandboxId, port)
  if (error.code !== 'port_failed') return error
  return new E2bError(502, error.message, { fields: { sandboxId, port }, cause: error })
}

function isUnreachable(error: unknown): error is E2bError {
  return error instanceof E2bError && error.status === 502
}

function wantsPage({ request }: E2bRequest): boolean {
  return request.method === 'GET' && /\btext\/html\b/i.test(request.headers.accept ?? '')
}

/** Answers a browser with the reason as a page. */
function writePage({ request, response, requestId }: E2bRequest, { status, message }: E2bError): void {
  closeAfterLongBody(request, response)
  response.writeHead(status, {
    ...standingHeaders(requestId),
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
  })
  response.end(`<!doctype html><title>${status}</title><p>${message}.\n`)
}
