import type { IncomingMessage } from 'node:http'
import type { PortStream } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import { ClientGone } from '../../foundation/wire/client-gone.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import type { Watched } from '../../tenancy/auth/open-streams.ts'
import type { Inside } from '../inside.ts'
import { type Admission, admitToPort, admitVouched } from './admit-to-port.ts'
import { connectPort } from './connect-port.ts'
import type { PortPlace } from './open-ports.ts'
import { type PortCredentials, takeCredentials } from './port-credentials.ts'
import { type PortTarget, portTargetOf } from './port-target.ts'

/** The way of a request to its port. Each entry with other addresses makes its own way. */
export interface PortWay {
  readonly target: PortTarget
  readonly credentials: PortCredentials
  /** The scheme that clients use if a proxy ends TLS. Null for the scheme of the configuration. */
  readonly scheme: 'https' | null
  /** Decides if the request may use the port. Throws if not. May be called again. */
  admit(): Promise<Admission>
}

/** A request that is admitted to its port. */
export interface Visit extends Omit<PortWay, 'admit'> {
  readonly admission: Admission
  /**
   * Opens the connection to the program, unless the client has disconnected. The caller closes it.
   */
  connect(): Promise<PortStream>
  /** Releases the slot of the request, after its connection has ended. */
  leave(): void
}

/**
 * Returns the way of a request by Holt's own addresses. A request that another host has forwarded
 * was admitted there. Throws the client's error.
 */
export function ownWay(service: Inside, request: IncomingMessage): PortWay {
  const target = portTargetOf(request, service.config.portDomain)
  refuseWorker(request, target)
  const credentials = takeCredentials(request, target.path)
  const vouch = vouchOf(request.socket)
  const admit = () =>
    vouch === null
      ? admitToPort(service, target, credentials, clientAddress(request))
      : admitVouched(service, target, vouch)
  return { target, credentials, scheme: vouch?.isSecure === true ? 'https' : null, admit }
}

/**
 * Refuses the script of a service worker at the API's origin. It would outlive its page and have
 * that origin, in spite of the policy of the page.
 */
function refuseWorker({ headers }: IncomingMessage, { form, port }: PortTarget): void {
  if (form === 'host' || headers['service-worker'] === undefined) return
  throw new HoltError('forbidden', 'The path form has no service workers.', {
    hint: `Open the port by its own host: holt port RUNTIME ${port} --open.`,
  })
}

/**
 * Admits a request by its way, and takes a slot among the open connections. `client` carries the
 * answer. `cut` is called when the service ends the request: its token was rotated, its key was
 * revoked, or the connection was idle.
 */
export async function enterPort(
  service: Inside,
  { way, client, cut }: { way: PortWay; client: Watched & { readonly destroyed: boolean }; cut: () => void },
): Promise<Visit> {
  const { target, credentials, scheme } = way
  const over = new AbortController()
  const end = () => {
    over.abort(new ClientGone('the visit to the port was cut'))
    cut()
  }
  const { admission, place } = await takePlace(service, way, end)
  if (admission.credential !== null) service.streams.add(admission.credential, client, end)
  let connected = false
  // Only its own messages end an open connection: the last ones may still be in transit when the
  // client has closed.
  const giveUp = () => {
    if (!connected) over.abort(new ClientGone('the client disconnected'))
  }
  client.once('close', giveUp)
  if (client.destroyed) giveUp()
  return { target, credentials, scheme, admission, connect, leave: () => place.leave() }

  async function connect(): Promise<PortStream> {
    const { runtime_id: runtimeId, project_id: projectId } = admission.row
    const { guest } = await openGuest(service, { projectId, runtimeId }, { gone: over.signal })
    const stream = await connectPort(guest, target.port, { signal: over.signal })
    place.watch(stream)
    connected = true
    return stream
  }
}

/** Takes a slot. Repeats the decision if connections of the port were closed meanwhile. */
async function takePlace(
  service: Inside,
  { target, admit }: PortWay,
  cut: () => void,
): Promise<{ admission: Admission; place: PortPlace }> {
  for (;;) {
    const { epoch } = service.ports
    const admission = await admit()
    if (service.ports.epoch !== epoch) continue
    const { by, expiresAt, row } = admission
    const { runtimeId, port } = target
    const entry = { projectId: row.project_id, runtimeId, port, isPublic: by === 'public', expiresAt, cut }
    return { admission, place: service.ports.enter(entry) }
  }
}
