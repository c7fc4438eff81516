import type { IncomingHttpHeaders } from 'node:http'

/** The beginning of the cookies' names, without TLS and with it. The id of the key follows. */
const plainName = 'holt_console_'
const secureName = `__Host-${plainName}`

/** A cookie with a session: the id of its key, and a token. */
export interface CookieClaim {
  readonly keyId: string
  readonly token: string
}

/** A session as a request proves it: by its cookie, and by the token of the page that sent it. */
export interface ConsoleClaim extends CookieClaim {
  readonly page: string
}

/** Returns true for the name of a cookie with a session. No program inside ever gets one. */
export function isConsoleCookie(name: string): boolean {
  return name.startsWith(plainName) || name.startsWith(secureName)
}

/**
 * Returns the sessions in the cookies of a request, one for each key. A key with two different
 * cookies of one name has none: another page of the host's domain may have set one of them.
 */
export function claimsIn({ cookie }: IncomingHttpHeaders): readonly CookieClaim[] {
  const tokens = new Map<string, Set<string>>()
  for (const part of (cookie ?? '').split(';')) {
    const [, name = '', token = ''] = /^\s*([^=\s]+)=(\S*)\s*$/.exec(part) ?? []
    if (isConsoleCookie(name) && /^[A-Za-z0-9_-]{43}$/.test(token))
      tokens.set(name, (tokens.get(name) ?? new Set()).add(token))
  }
  const keyIds = new Set([...tokens.keys()].map((name) => name.slice(name.indexOf(plainName) + plainName.length)))
  return [...keyIds].flatMap((keyId) => {
    // Only the host itself can set a cookie with the prefix, so that one is preferred.
    const [token, ...others] = tokens.get(secureName + keyId) ?? tokens.get(plainName + keyId) ?? []
    return token === undefined || others.length > 0 ? [] : [{ keyId, token }]
  })
}

/**
 * Returns the `Set-Cookie` header of a session. It has no `Max-Age`: the browser forgets it when it
 * closes, and the service ends the session earlier. `secure` is true if the browser uses TLS.
 */
export function consoleCookie({ keyId, token }: CookieClaim, secure: boolean): string {
  return `${secure ? secureName : plainName}${keyId}=${token}; ${attributes(secure)}`
}

/** Returns the `Set-Cookie` headers that remove the session of a key from a browser. */
export function removedCookies(keyId: string): readonly string[] {
  return [false, true].map((secure) => `${secure ? secureName : plainName}${keyId}=; Max-Age=0; ${attributes(secure)}`)
}

function attributes(secure: boolean): string {
  return `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
}
