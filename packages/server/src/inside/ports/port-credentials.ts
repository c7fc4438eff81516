import type { IncomingMessage } from 'node:http'
import { portTokenField, portTokenHeader } from '@holt/protocol'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import { isConsoleCookie } from '../../tenancy/console/console-cookie.ts'

/** The cookie with the token of a port, for browsers. */
export const portCookie = 'holt_port'

/** The credentials of a request for a port. */
export interface PortCredentials {
  /** The header with an API key; null if there is none, or if it is for the program. */
  readonly authorization: string | null
  /** The token in the header or in the query. */
  readonly token: string | null
  readonly fromQuery: boolean
  readonly cookies: readonly string[]
  /** Path and query without the token. */
  readonly path: string
}

const apiKey = /^Bearer +(?:holt|e2b)_/i

/** Returns true for a header with an API key of this service, which the program never gets. */
export function isApiKey(authorization: string): boolean {
  return apiKey.test(authorization)
}

/** Removes the credentials of this service from a request, and returns them. */
export function takeCredentials(request: IncomingMessage, path: string): PortCredentials {
  const header = request.headersDistinct[portTokenHeader] ?? []
  const query = takeFromQuery(path)
  const tokens = [...header, ...query.tokens]
  if (tokens.length > 1)
    throw invalidField('/header/X-Holt-Port-Token', 'must be given once, in the header or the query')
  const authorization = request.headers.authorization ?? ''
  return {
    authorization: isApiKey(authorization) ? authorization : null,
    token: tokens[0] ?? null,
    fromQuery: query.tokens.length > 0,
    cookies: cookiesOf(request)
      .filter(({ name }) => name === portCookie)
      .map(({ value }) => value),
    path: query.path,
  }
}

/** Returns true for a cookie of the service, which no program gets or sets. */
export function isOwnCookie(name: string): boolean {
  return name === portCookie || isConsoleCookie(name)
}

/** Returns the `Cookie` header without the service's own cookies; null if nothing is left. */
export function foreignCookies(request: IncomingMessage): string | null {
  const foreign = cookiesOf(request).filter(({ name }) => !isOwnCookie(name))
  return foreign.length === 0 ? null : foreign.map(({ text }) => text).join('; ')
}

function cookiesOf({ headers }: IncomingMessage): readonly { name: string; value: string; text: string }[] {
  return (headers.cookie ?? '').split(';').flatMap((part) => {
    const text = part.trim()
    const equals = text.indexOf('=')
    if (text === '') return []
    return [{ name: text.slice(0, Math.max(equals, 0)).trim(), value: text.slice(equals + 1).trim(), text }]
  })
}

/** Removes the service's own fields from a query. The others are unchanged, byte by byte. */
function takeFromQuery(path: string): { readonly tokens: readonly string[]; readonly path: string } {
  const start = path.indexOf('?')
  if (start === -1) return { tokens: [], path }
  const tokens: string[] = []
  const others = path
    .slice(start + 1)
    .split('&')
    .filter((part) => {
      const [name = '', value = ''] = part.split('=', 2)
      if (decoded(name) !== portTokenField) return true
      tokens.push(decoded(value))
      return false
    })
  if (tokens.length === 0) return { tokens, path }
  return { tokens, path: path.slice(0, start) + (others.length === 0 ? '' : `?${others.join('&')}`) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text // Not ours: what is not percent-encoded UTF-8 is the program's to read.
  }
}
