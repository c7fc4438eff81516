import type { Port } from '@holt/sdk'

/**
 * Returns true if a port can be opened in a browser: its address is one of the web, on an origin of
 * its own.
 */
export function canOpen({ url }: Pick<Port, 'url'>): boolean {
  const address = URL.parse(url)
  return address !== null && ['http:', 'https:'].includes(address.protocol) && address.origin !== location.origin
}

/**
 * Opens a port in a new tab. The token in the address is for one request, to which the service
 * answers with a cookie and the address without it. So no token that works is in the history or a
 * log, and the page inside never sees one.
 */
export function openPort(port: Pick<Port, 'url' | 'token' | 'public'>): void {
  if (!canOpen(port)) return
  const address = new URL(port.url)
  if (!port.public) address.searchParams.set('holt_token', port.token)
  window.open(address.href, '_blank', 'noopener,noreferrer')
}
