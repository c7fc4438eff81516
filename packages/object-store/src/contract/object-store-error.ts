/**
 * The kinds of failures.
 * - `not_found`: the object does not exist.
 * - `precondition_failed`: the object exists, and `ifAbsent` was set.
 * - `unavailable`: the store does not answer, or asks to come back later. A later try may succeed.
 * - `refused`: the store refuses the credentials, the bucket or the request. Retries do not help.
 * - `damaged`: the bytes are not those that were written, or the object changed while it was read.
 * - `invalid`: the address, the key or the range is outside of what the store accepts.
 * - `full`: the store has no room, or the object is larger than the store accepts.
 */
export type ObjectStoreErrorKind =
  | 'not_found'
  | 'precondition_failed'
  | 'unavailable'
  | 'refused'
  | 'damaged'
  | 'invalid'
  | 'full'

interface ObjectStoreErrorOptions extends ErrorOptions {
  readonly retryAfterMs?: number | null
}

/** A failure of an object store. The message names the key, and no credentials. */
export class ObjectStoreError extends Error {
  override readonly name = 'ObjectStoreError'
  readonly kind: ObjectStoreErrorKind
  /** The time after which the store asks to come back; null if it did not say. */
  readonly retryAfterMs: number | null

  constructor(kind: ObjectStoreErrorKind, message: string, options: ObjectStoreErrorOptions = {}) {
    super(message, options)
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}
