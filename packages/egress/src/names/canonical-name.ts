import { isHostName } from '@holt/protocol'

/**
 * Returns the one form of a host name that is decided on and forwarded: lower case ASCII, no final
 * dot. Returns null for anything else, so none of it is forwarded.
 */
export function canonicalName(text: string): string | null {
  // Only ASCII reaches toLowerCase, which would turn the Kelvin sign into a k.
  if (text.length > 254 || !/^[\w.-]+$/.test(text)) return null
  const name = text.toLowerCase().replace(/\.$/, '')
  return isHostName(name) ? name : null
}

/**
 * Splits a host or authority of a client: `name`, `1.2.3.4`, `[::1]`, each with an optional port in
 * canonical decimal. Returns null for anything else.
 */
export function splitAuthority(text: string): { readonly host: string; readonly port: number | null } | null {
  const match = /^(\[[0-9a-f:.]{2,45}\]|[^[\]:@/\\?#]{1,254})(?::(0|[1-9]\d{0,4}))?$/i.exec(text)
  const [, host, digits] = match ?? []
  if (host === undefined) return null
  const port = digits === undefined ? null : Number(digits)
  if (port !== null && (port < 1 || port > 65_535)) return null
  return { host: host.startsWith('[') ? host.slice(1, -1) : host, port }
}
