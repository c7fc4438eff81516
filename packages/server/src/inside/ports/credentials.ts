import type { IncomingMessage } from 'node:http'
import { portTokenField, portTokenHeader } from '@holt/protocol'
import { invalidField } from '../../foundation/wire/field-issues.ts'

/** The cookie that opens a port in a browser. */
export const portCookie = 'holt_port'

/** The credentials of a request for a port. */
export interface PortCredentials {
  /** The header of an API key; null where none is given, or where it is not for us. */
  readonly authorization: string | null
  /** The token of the header, or of the query. */
  readonly token: string | null
  readonly fromQuery: boolean
  readonly cookies: readonly string[]
  /** Path and query without the token. */
  readonly path: string
}

const apiKey = /^Bearer +holt_/i

/** True for a header that carries an API key of this service: the program never sees it. */
export function isApiKey(authorization: string): boolean {
  return apiKey.test(authorization)
}

/** Takes what opens a port out of a request. */
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

/** The `Cookie` header without our own; null where nothing is left. */
export function foreignCookies(request: IncomingMessage): string | null {
  const foreign = cookiesOf(request).filter(({ name }) => name !== portCookie)
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

/** Only fields of our own name are looked at; the others stay as they are, byte by byte. */
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
