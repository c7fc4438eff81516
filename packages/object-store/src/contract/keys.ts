import type { ByteRange } from './object-store.ts'
import { ObjectStoreError } from './object-store-error.ts'

/** The longest key in bytes. S3 takes 1,024 with the prefix. */
const longestKey = 512

/**
 * Segments of letters, digits and `._-` between single slashes. A segment does not begin with a
 * dot, so that no key leaves the directory or names a file that is being written.
 */
const keyForm = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}\/)*[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/

/** Returns true for a key that every store accepts. */
export function isKey(key: string): boolean {
  return key.length <= longestKey && keyForm.test(key)
}

/** Throws an error of kind `invalid` for a key that not every store accepts. */
export function requireKey(key: string): void {
  if (isKey(key)) return
  throw new ObjectStoreError(
    'invalid',
    `${JSON.stringify(key.slice(0, 80))} is no key of an object: use letters, digits and ._- between single slashes`,
  )
}

/** Throws an error of kind `invalid` for a prefix that no key can have. */
export function requirePrefix(prefix: string): void {
  if (prefix === '' || isKey(prefix.replace(/\/$/, ''))) return
  throw new ObjectStoreError('invalid', `${JSON.stringify(prefix.slice(0, 80))} is no prefix of keys`)
}

/** Throws an error of kind `invalid` for a range that is outside of an object of that size. */
export function requireRange(key: string, range: ByteRange, sizeBytes: number): void {
  const { start, end } = range
  const isWhole = Number.isSafeInteger(start) && Number.isSafeInteger(end)
  if (isWhole && start >= 0 && start <= end && end <= sizeBytes) return
  throw new ObjectStoreError('invalid', `${key}: the bytes ${start} to ${end} are outside of its ${sizeBytes} bytes`)
}
