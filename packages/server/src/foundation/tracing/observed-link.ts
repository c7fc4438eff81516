import type { GuestLink, GuestRequest } from '@holt/engine'
import type { Tracer } from './tracer.ts'

/** Returns a link whose requests are traced until their answer begins. */
export function observeLink(link: GuestLink, tracer: Tracer): GuestLink {
  return {
    get connected() {
      return link.connected
    },
    request: (request) => tracer.span(`guest ${request.method} ${nameOf(request)}`, {}, () => link.request(request)),
  }
}

/**
 * Returns the path without parts from a client or a runtime: the segment after a list's name, and
 * the query.
 */
function nameOf({ path }: GuestRequest): string {
  const [bare = ''] = path.split('?', 1)
  return bare.replace(/^(\/v1\/(?:processes|sessions|ports|watches))\/[^/]+/, '$1/{id}')
}
