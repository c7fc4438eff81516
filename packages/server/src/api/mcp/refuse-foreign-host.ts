import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { HoltError } from '@holt/protocol'

/**
 * Refuses requests that a web page may have sent through a name of its own, which it lets point to
 * this service (DNS rebinding). Such a request has the page's name as Host and Origin. Accepted are
 * addresses, which no page can choose, the names of loopback, and `names`.
 */
export function refuseForeignHost(names: readonly string[], headers: IncomingHttpHeaders): void {
  const { host, origin } = headers
  if (host !== undefined && !isOurs(nameOf(`http://${host}`), names))
    throw refused('Host', 'Add the name to HOLT_MCP_HOSTS, or use an address of the service.')
  if (origin !== undefined && !isOurs(nameOf(origin), names))
    throw refused('Origin', 'Web pages of other origins cannot use /mcp.')
}

function nameOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '') : null
}

function isOurs(name: string | null, names: readonly string[]): boolean {
  if (name === null || name === '') return false
  // The names below localhost are loopback for every resolver (RFC 6761, 6.3).
  return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || names.includes(name)
}

function refused(header: string, hint: string): HoltError {
  return new HoltError('forbidden', `The header ${header} names a host that this service does not serve at /mcp.`, {
    hint,
  })
}
