import { isIP } from 'node:net'
import type { EntryNames } from '@holt/e2b'
import type { ServerConfig } from '../../foundation/config/config.ts'
import type { E2bConfig } from '../../foundation/config/e2b-settings.ts'

/**
 * Returns the names by which a request finds its entry. Names of the service are those that the
 * operator has given it: its address, its issuer, and its names for `/mcp`.
 */
export function entryNames(
  { host, issuer, mcpHosts, portDomain }: Pick<ServerConfig, 'host' | 'issuer' | 'mcpHosts' | 'portDomain'>,
  { domain }: E2bConfig,
): EntryNames {
  const ofIssuer = issuer === null ? [] : [new URL(issuer).hostname]
  const own = [...(isIP(host) === 0 ? [host.toLowerCase()] : []), ...ofIssuer, ...mcpHosts]
  return { domain: domain?.name ?? null, portDomain: portDomain.name, own: new Set(own) }
}
