import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { portTokenHeader } from '@holt/protocol'
import { connectionFacts } from '../../foundation/request/vouch.ts'
import { breakOff } from '../../foundation/wire/break-off.ts'
import { endToEndHeaders, type RawHeaders } from '../../foundation/wire/end-to-end-headers.ts'
import type { Forwardable, Forwarder } from '../../foundation/wire/forwarder.ts'
import type { Upgrade } from '../../foundation/wire/upgrades.ts'
import { settingOf } from '../../runtimes/state/port-settings.ts'
import { isFleetHeader } from '../../tenancy/auth/credential-headers.ts'
import type { Inside } from '../inside.ts'
import type { PortWay } from './enter-port.ts'
import { responseHeaders, wantsTrailers } from './forward-headers.ts'
import { foreignCookies, isApiKey } from './port-credentials.ts'
import { type AdmittedVisit, redirection, schemeOf } from './port-redirection.ts'

/**
 * Returns true for a header with a credential of E2B, which stays at this host. Given for visits by
 * addresses of E2B alone.
 */
type HidesOfE2b = (name: string, value: string) => boolean

/**
 * Admits a request for a port and forwards it to the owner of the runtime. The owner gets no
 * credential of the visitor. Returns false if this host answers.
 */
export async function forwardVisit(
  service: Inside,
  forwarder: Forwarder,
  {
    way,
    request,
    response,
    requestId,
    hides,
  }: {
    way: PortWay
    request: IncomingMessage
    response: ServerResponse
    requestId: string
    hides?: HidesOfE2b
  },
): Promise<boolean> {
  const visit = await visitElsewhere(forwarder, way)
  if (visit === null) return false
  const better = redirection(service, visit, { request, scheme: schemeOf(service, visit, request) })
  if (better !== null) {
    response.writeHead(better.status, better.headers).end()
    return true
  }
  const { credential } = visit.admission
  if (credential !== null) service.streams.add(credential, response, () => response.destroy())
  const forwardable = forwardableOf(visit, { request, requestId, hides })
  return (await forwarder.forward({ ...forwardable, response, beforeAnswer: () => ({}) })) !== null
}

/**
 * Admits an upgrade for a port and forwards it as `forwardVisit` does. Returns the status of the
 * answer, or null if this host answers.
 */
export async function forwardVisitUpgrade(
  service: Inside,
  forwarder: Forwarder,
  { way, request, socket, head, requestId, hides }: Upgrade & { way: PortWay; hides?: HidesOfE2b },
): Promise<number | null> {
  const visit = await visitElsewhere(forwarder, way)
  if (visit === null) return null
  const client = socket as Socket
  client.setTimeout(0)
  const { credential } = visit.admission
  if (credential !== null) service.streams.add(credential, client, () => breakOff(client))
  const upgrade = request.headers.upgrade ?? 'websocket'
  return forwarder.forwardUpgrade({ ...forwardableOf(visit, { request, requestId, hides }), socket, head, upgrade })
}

async function visitElsewhere(forwarder: Forwarder, way: PortWay): Promise<AdmittedVisit | null> {
  const admission = await way.admit()
  const { project_id: projectId, runtime_id: id } = admission.row
  return (await forwarder.isElsewhere({ type: 'runtime', projectId, id, wakes: 'request' }))
    ? { ...way, admission }
    : null
}

function forwardableOf(
  { target, credentials, admission }: AdmittedVisit,
  {
    request,
    requestId,
    hides,
  }: { readonly request: IncomingMessage; readonly requestId: string; readonly hides: HidesOfE2b | undefined },
): Forwardable {
  const { row, by, credential, expiresAt } = admission
  const { project_id: projectId, runtime_id: id } = row
  const { generation } = settingOf(row, target.port)
  return {
    owned: { type: 'runtime', projectId, id, wakes: 'request' },
    request,
    target: target.prefix + credentials.path,
    headers: visitHeaders(request, hides),
    answerHeaders: (answer) => responseHeaders(answer, target),
    vouch: {
      requestId,
      ...connectionFacts(request),
      caller: null,
      visit: {
        projectId,
        by,
        // A caller has more than a credential, and the owner needs no more of it.
        credential:
          credential === null
            ? null
            : {
                keyId: credential.keyId,
                keyVersion: credential.keyVersion,
                ...(credential.session === undefined ? {} : { session: credential.session }),
              },
        expiresAt,
        generation,
      },
      ...(hides === undefined ? {} : { surface: 'e2b' as const }),
    },
    traceparent: null,
    isBulk: true,
  }
}

/** Returns the headers of a visitor for the owner, without credentials of this service. */
function visitHeaders(request: IncomingMessage, hides: HidesOfE2b = () => false): RawHeaders {
  const passed = endToEndHeaders(
    request,
    (name, value) =>
      name === 'cookie' ||
      name === 'expect' ||
      name === portTokenHeader ||
      isFleetHeader(name) ||
      hides(name, value) ||
      (name === 'authorization' && isApiKey(value)),
  )
  const cookies = foreignCookies(request)
  return [
    ...passed,
    ...(cookies === null ? [] : ['Cookie', cookies]),
    ...(wantsTrailers(request) ? ['TE', 'trailers'] : []),
  ]
}
