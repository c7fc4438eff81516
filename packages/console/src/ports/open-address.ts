import type { Port } from '@holt/sdk'

/**
 * Returns the address that opens a port in a browser: on an origin of its own, with the token of a
 * private port. The service takes the token out of the address at the first request, and the page
 * inside never sees it. Null if the address is not one of the web, or not of another origin.
 */
export function openAddress({ url, token, public: isPublic }: Pick<Port, 'url' | 'token' | 'public'>): string | null {
  const address = URL.parse(url)
  if (address === null || !['http:', 'https:'].includes(address.protocol)) return null
  if (address.origin === location.origin) return null
  if (!isPublic) address.searchParams.set('holt_token', token)
  return address.href
}
