import type { BuildFailureCode } from '@holt/protocol'

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

/** The error of a tree that cannot be made. `detail` is for a log, `message` for a person. */
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

/** The hint for a failed step without a more specific one. */
const stepHint = 'Correct the fault that the message names, and build again. The steps before it are in the cache.'

/**
 * The error of a build that its author can correct. Any other error is thrown unchanged, and is
 * reported as `internal`.
 */
export class BuildError extends Error {
  override readonly name = 'BuildError'
  readonly code: BuildFailureCode
  readonly hint: string | null
  readonly details: Readonly<Record<string, unknown>>
  /** The step that failed. If it is null, the executor sets it. */
  readonly step: number | null
  constructor(
    code: BuildFailureCode,
    message: string,
    options: { hint?: string; details?: Readonly<Record<string, unknown>>; step?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.hint = options.hint ?? (code === 'step_failed' ? stepHint : null)
    this.details = options.details ?? {}
    this.step = options.step ?? null
  }
}
