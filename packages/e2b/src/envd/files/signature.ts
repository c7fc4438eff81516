import { createHash, timingSafeEqual } from 'node:crypto'
import { ConnectError } from '../../errors/connect-error.ts'

/** The parts of an address that a signature binds. */
export interface SignedAddress {
  /** The path exactly as in the query. Absent there: empty. */
  readonly path: string
  readonly operation: 'read' | 'write'
  /** The user as in the query. Absent there: empty. */
  readonly username: string
  /** The end of validity as in the query, in seconds since 1970. Null: without end. */
  readonly expiry: string | null
}

/** Returns the address of a request for files. Each parameter counts once: its first value. */
export function signedAddress(operation: SignedAddress['operation'], query: URLSearchParams): SignedAddress {
  return {
    path: query.get('path') ?? '',
    operation,
    username: query.get('username') ?? '',
    expiry: query.get('signature_expiration'),
  }
}

/** Returns the signature of an address of a sandbox's files. */
export function signatureOf({ path, operation, username, expiry }: SignedAddress, token: string): string {
  const end = expiry === null ? '' : `:${expiry}`
  const digest = createHash('sha256').update(`${path}:${operation}:${username}:${token}${end}`).digest('base64')
  return `v1_${digest.replace(/=+$/, '')}`
}

/** Returns true for a text that has the form of a signature. */
export function isSignature(text: string): boolean {
  return /^v1_[A-Za-z0-9+/]{43}$/.test(text)
}

/**
 * Returns true if a sandbox's token made the signature. Takes the same time for every signature.
 */
export function isSigned(signature: string, address: SignedAddress, token: string): boolean {
  return isSameSecret(signature, signatureOf(address, token))
}

/** Returns true if two secrets are equal. Takes the same time for every given one. */
function isSameSecret(given: string, wanted: string): boolean {
  const [one, other] = [given, wanted].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(one, other)
}

/**
 * Throws `unauthenticated` unless an address has a valid signature of a sandbox's token. The words
 * of the errors are those that clients look for.
 */
export function requireSignature(
  signature: string | null,
  address: SignedAddress,
  { token, nowMs }: { readonly token: string; readonly nowMs: number },
): void {
  if (signature === null) throw new ConnectError('unauthenticated', 'missing signature query parameter')
  const { expiry } = address
  // The separator is part of the user's and the token's place: a text with one could shift them.
  const isOdd = address.username.includes(':') || (expiry !== null && !/^\d{1,15}$/.test(expiry))
  if (isOdd || !isSigned(signature, address, token)) throw new ConnectError('unauthenticated', 'invalid signature')
  if (expiry !== null && Number(expiry) * 1000 < nowMs)
    throw new ConnectError('unauthenticated', 'signature is already expired')
}
