import type { TLSSocket } from 'node:tls'
import type { ControlCall } from './control-call.ts'
import { e2bConfig } from './e2b-config.ts'

/** Returns the address at which the client has reached the control plane. */
export function uploadAddress({
  service,
  request,
}: Pick<ControlCall<unknown, unknown>, 'service' | 'request'>): string {
  const { host = '' } = request.headers
  const { domain } = e2bConfig(service)
  // In domain mode clients speak TLS, and a proxy may end it.
  const isDomain = domain !== null && host.toLowerCase().startsWith(`api.${domain.name}`)
  const isTls = isDomain || (request.socket as TLSSocket).encrypted === true
  return `${isTls ? 'https' : 'http'}://${host}`
}
