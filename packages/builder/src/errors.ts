/**
 * The kind of fault that stopped the making of a tree. The service maps it to its own catalogue.
 */
export type BuilderErrorCode =
  | 'recipe_invalid'
  | 'tool_missing'
  | 'tool_failed'
  | 'source_unreachable'
  | 'reference_invalid'
  | 'image_not_found'
  | 'image_refused'
  | 'image_invalid'
  | 'image_too_large'
  | 'platform_missing'
  | 'context_invalid'

/**
 * The only error that this package throws on purpose. `detail` is for a log, `message` for a
 * person.
 */
export class BuilderError extends Error {
  override readonly name = 'BuilderError'
  readonly code: BuilderErrorCode
  readonly detail: string | undefined

  constructor(code: BuilderErrorCode, message: string, options: { detail?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.detail = options.detail
  }
}
