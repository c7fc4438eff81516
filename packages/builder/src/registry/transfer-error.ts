/** What kind of thing went wrong while something was fetched. */
export type TransferFailure =
  /** An address, a scheme or a redirect that the rules do not allow. Never tried again. */
  | 'not_allowed'
  /** A name that has no address here. Never tried again. */
  | 'no_such_host'
  /** Nobody answers, or not to the end. */
  | 'unreachable'
  /** The server says that it cannot now: 429, 5xx. */
  | 'busy'
  | 'not_found'
  /** It wants credentials, or does not take these. */
  | 'denied'
  /** What came is not what was promised. */
  | 'damaged'
  /** What came makes no sense. */
  | 'invalid'
  | 'too_large'

/**
 * Something could not be fetched; `message` is a sentence for a person and holds no credentials.
 */
export class TransferError extends Error {
  override readonly name = 'TransferError'
  readonly reason: TransferFailure
  /** What the server asked to wait. */
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

  /** Whether the same may go better a moment later. */
  get isTransient(): boolean {
    return this.reason === 'unreachable' || this.reason === 'busy'
  }
}
