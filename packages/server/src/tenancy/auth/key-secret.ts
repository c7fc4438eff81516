import { createHash, randomBytes } from 'node:crypto'
import { type CreateKeyInput, randomText } from '@holt/protocol'

/** The form of a key's secret. */
export type SecretFormat = NonNullable<CreateKeyInput['format']>

/** The characters of a secret that are kept to recognise it: its form and some of forty. */
const prefixLength = 12

/**
 * Returns a new key's secret: `holt_` and 40 characters of `[a-z0-9]` (206 random bits), or `e2b_`
 * and 40 hexadecimal digits (160 random bits).
 */
export function makeSecret(format: SecretFormat = 'holt'): string {
  return format === 'e2b' ? `e2b_${randomBytes(20).toString('hex')}` : `holt_${randomText(40)}`
}

/** Returns the form of a secret by its beginning. */
export function formatOf(prefix: string): SecretFormat {
  return prefix.startsWith('e2b_') ? 'e2b' : 'holt'
}

/** Returns true if a text has the form of a key's secret. */
export function isSecret(text: string): boolean {
  return /^(?:holt_[a-z0-9]{40}|e2b_[0-9a-f]{40})$/.test(text)
}

/**
 * Returns the digest under which a secret is stored. The secret is random, so one round of SHA-256
 * is enough.
 */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** Returns the secret in an `Authorization` header, or null if there is none. */
export function sentSecret(header: string | undefined): string | null {
  return /^Bearer +([\x21-\x7e]{1,200})$/i.exec(header ?? '')?.[1] ?? null
}

/** Returns the digest of the secret in an `Authorization` header, or null if there is none. */
export function sentDigest(header: string | undefined): string | null {
  const secret = sentSecret(header)
  return secret === null ? null : digestOf(secret)
}

/** Returns the part of a secret that may be shown. */
export function prefixOf(secret: string): string {
  return secret.slice(0, prefixLength)
}
