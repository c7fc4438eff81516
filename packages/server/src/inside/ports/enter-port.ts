import type { IncomingMessage } from 'node:http'
import type { PortStream } from '@holt/guest-client'
import { ClientGone } from '../../foundation/wire/client-gone.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import type { Watched } from '../../tenancy/auth/open-streams.ts'
import type { Inside } from '../inside.ts'
import { type Admission, admitToPort } from './admit-to-port.ts'
import { connectPort } from './connect-port.ts'
import type { PortPlace } from './open-ports.ts'
import { type PortCredentials, takeCredentials } from './port-credentials.ts'
import { type PortTarget, portTargetOf } from './port-target.ts'

/** A request that is admitted to its port. */
export interface Visit {
  readonly target: PortTarget
  readonly credentials: PortCredentials
  readonly admission: Admission
  /**
   * Opens the connection to the program, unless the client has disconnected. The caller closes it.
   */
  connect(): Promise<PortStream>
  /** Releases the slot of the request, after its connection has ended. */
  leave(): void
}

/**
 * Admits a request: determines its port, checks its credentials, and takes a slot among the open
 * connections. `client` carries the answer. `cut` is called when the service ends the request: its
 * token was rotated, its key was revoked, or the connection was idle.
 */
export async function enterPort(
  service: Inside,
  {
    request,
    client,
    cut,
  }: { request: IncomingMessage; client: Watched & { readonly destroyed: boolean }; cut: () => void },
): Promise<Visit> {
  const target = portTargetOf(request, service.config.portDomain)
  const credentials = takeCredentials(request, target.path)
  const over = new AbortController()
  const end = () => {
    over.abort(new ClientGone('the visit to the port was cut'))
    cut()
  }
  const { admission, place } = await takePlace(service, {
    target,
    credentials,
    peer: request.socket.remoteAddress,
    cut: end,
  })
  if (admission.credential !== null) service.streams.add(admission.credential, client, end)
  let connected = false
  // A connection that is there ends by what is said over it: the last of that may still be on its
  // way when the client has closed.
  const giveUp = () => {
    if (!connected) over.abort(new ClientGone('the client disconnected'))
  }
  client.once('close', giveUp)
  if (client.destroyed) giveUp()
  return { target, credentials, admission, connect, leave: () => place.leave() }

  async function connect(): Promise<PortStream> {
    const { runtime_id: runtimeId, project_id: projectId } = admission.row
    const { guest } = await openGuest(service, { projectId, runtimeId }, { gone: over.signal })
    const stream = await connectPort(guest, target.port, over.signal)
    place.watch(stream)
    connected = true
    return stream
  }
}

/** Takes a slot. Repeats the decision if connections of the port were closed meanwhile. */
async function takePlace(
  service: Inside,
  {
    target,
    credentials,
    peer,
    cut,
  }: { target: PortTarget; credentials: PortCredentials; peer: string | undefined; cut: () => void },
): Promise<{ admission: Admission; place: PortPlace }> {
  for (;;) {
    const { epoch } = service.ports
    const admission = await admitToPort(service, target, credentials, peer)
    if (service.ports.epoch !== epoch) continue
    const { by, expiresAt, row } = admission
    const { runtimeId, port } = target
    const entry = { projectId: row.project_id, runtimeId, port, isPublic: by === 'public', expiresAt, cut }
    return { admission, place: service.ports.enter(entry) }
  }
}
