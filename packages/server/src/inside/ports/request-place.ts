import type { IncomingMessage } from 'node:http'

/** The place that a request is for. */
export interface RequestPlace {
  /** The host in canonical form: lower case, without port and final dot. Empty if there is none. */
  readonly host: string
  /** Path and query. */
  readonly target: string
}

/** Returns the place of a request, from its Host header and target. Null if it is ambiguous. */
export function placeOf(request: IncomingMessage): RequestPlace | null {
  const host = hostOf(request)
  const target = host === null ? null : originForm(request.url ?? '', host)
  return host === null || target === null ? null : { host, target }
}

/**
 * Returns the host of a request in canonical form: lower case, without port and final dot. Empty if
 * there is none, null if it is ambiguous. Over TLS, the client's server name must be the same: a
 * connection is for one name, whatever its requests say.
 */
function hostOf(request: IncomingMessage): string | null {
  const { rawHeaders } = request
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') hosts += 1
  const host = hosts > 1 ? null : canonicalHost(request.headers.host ?? '')
  const { servername } = request.socket as { readonly servername?: string | false | null }
  if (host === null || typeof servername !== 'string' || servername === '') return host
  return canonicalHost(servername) === host ? host : null
}

function canonicalHost(text: string): string | null {
  const [, name] = /^(\[[0-9A-Fa-f:.]*\]|[^\s:@/\\?#[\]]*)(?::[0-9]*)?$/.exec(text) ?? []
  return name === undefined ? null : name.toLowerCase().replace(/\.$/, '')
}

/**
 * Returns the target as a path. An absolute target must name the same host as the header (RFC 9112,
 * 3.2.2).
 */
function originForm(target: string, host: string): string | null {
  if (target.startsWith('/') || target === '*') return target
  const [, authority, path = ''] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(target) ?? []
  if (authority === undefined || canonicalHost(authority) !== host) return null
  return path.startsWith('/') ? path : `/${path}`
}
