/** The reason for a failed transfer. */
export type TransferFailure =
  /** An address, a scheme or a redirect that the rules do not allow. Never retried. */
  | 'not_allowed'
  /** A name that has no address here. Never retried. */
  | 'no_such_host'
  /** The server does not answer, or stops before the end. */
  | 'unreachable'
  /** The server cannot answer now: 429, 5xx. */
  | 'busy'
  | 'not_found'
  /** The server requires credentials, or refuses these. */
  | 'denied'
  /** The content does not match its digest or size. */
  | 'damaged'
  /** The answer makes no sense. */
  | 'invalid'
  | 'too_large'

/**
 * The error of a failed transfer. `message` is a sentence for a person and contains no credentials.
 */
export class TransferError extends Error {
  override readonly name = 'TransferError'
  readonly reason: TransferFailure
  /** The time that the server asked to wait, in milliseconds. */
  readonly retryAfterMs: number | null

  constructor(
    reason: TransferFailure,
    message: string,
    options: { readonly retryAfterMs?: number | null; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.reason = reason
    this.retryAfterMs = options.retryAfterMs ?? null
  }

  /** True if a later attempt may succeed. */
  get isTransient(): boolean {
    return this.reason === 'unreachable' || this.reason === 'busy'
  }
}
