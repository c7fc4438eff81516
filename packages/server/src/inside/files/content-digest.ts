import type { IncomingHttpHeaders } from 'node:http'
import { invalidField } from '../../foundation/wire/field-issues.ts'

/**
 * Returns the SHA-256 digests that a request announces, in hexadecimal: of its body, and of the
 * resulting file.
 */
export function announcedDigests(headers: IncomingHttpHeaders): { partSha256?: string; sha256?: string } {
  const part = digestIn(headers, 'content-digest')
  const whole = digestIn(headers, 'repr-digest')
  return { ...(part === null ? {} : { partSha256: part }), ...(whole === null ? {} : { sha256: whole }) }
}

/**
 * Reads the `sha-256` of `Content-Digest` or `Repr-Digest` (RFC 9530), a dictionary of algorithms
 * and bytes. A header without it is refused, because the client expects a check.
 */
function digestIn(headers: IncomingHttpHeaders, name: 'content-digest' | 'repr-digest'): string | null {
  const value = headers[name]
  if (value === undefined) return null
  const members = (Array.isArray(value) ? value.join(',') : value).split(',').map((member) => member.trim())
  const found = members.filter((member) => member.startsWith('sha-256='))
  const encoded = /^sha-256=:([A-Za-z0-9+/]{43}=):$/.exec(found[0] ?? '')?.[1]
  if (found.length !== 1 || encoded === undefined)
    throw invalidField(
      `/header/${title(name)}`,
      'must have one sha-256=:BASE64: of 32 bytes; no other digest is checked',
    )
  return Buffer.from(encoded, 'base64').toString('hex')
}

function title(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (part) => part.toUpperCase())
}
