import { TLSSocket } from 'node:tls'
import { placeOf } from '../../inside/ports/request-place.ts'
import type { ControlCall } from './control-call.ts'
import { e2bConfig } from './e2b-config.ts'

/** Returns the address at which the client has reached the control plane. */
export function uploadAddress({
  service,
  request,
}: Pick<ControlCall<unknown, unknown>, 'service' | 'request'>): string {
  const { host = '' } = request.headers
  const { issuer } = service.config
  // A proxy may have ended TLS: at the service's own address, and in domain mode.
  if (issuer !== null && new URL(issuer).host === host.toLowerCase()) return new URL(issuer).origin
  const { domain } = e2bConfig(service)
  const isDomain = domain !== null && placeOf(request)?.host === `api.${domain.name}`
  return `${isDomain || request.socket instanceof TLSSocket ? 'https' : 'http'}://${host}`
}
