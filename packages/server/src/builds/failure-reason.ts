import { BuildError } from '@holt/builder'
import { type Build, HoltError } from '@holt/protocol'
import { fromEngineError, isEngineError } from '../foundation/errors/engine-errors.ts'
import { isDiskFull } from '../foundation/store/disk-full.ts'

/** The reason of a failed build. */
export type FailureReason = NonNullable<Build['reason']>

/** The longest message, in characters. It has room for the last lines of a step's output. */
const maxMessage = 8 * 1024

/** The reason of a build whose process ended. */
export const interrupted: FailureReason = {
  code: 'internal',
  step: null,
  message: 'The service stopped during this build.',
  hint: 'Start the build again. It reuses cached steps.',
  details: {},
}

/** The reason of a build whose host was emptied. */
const drained: FailureReason = {
  ...interrupted,
  message: 'The host of this build was emptied before the build ended.',
  hint: 'Start the build again. It runs on another host.',
}

/**
 * Returns the reason of a build that failed by an error, because its host was emptied, or because
 * the service stopped. The service's log has unexpected errors.
 */
export function reasonOf(error: unknown): FailureReason {
  if (error === 'service_stopped') return interrupted
  if (error === 'host_drained') return drained
  if (error instanceof BuildError) {
    const { code, step, message, hint, details } = error
    return { code, step, message: message.slice(0, maxMessage).toWellFormed(), hint, details: { ...details } }
  }
  if (error instanceof HoltError) {
    const { message, hint, details = {} } = error
    if (error.code === 'quota_exceeded') return { code: 'quota_exceeded', step: null, message, hint, details }
    return { code: 'internal', step: null, message, hint, details: {} }
  }
  const known = isDiskFull(error) || (isEngineError(error) && error.kind === 'no_space')
  return {
    code: 'internal',
    step: null,
    message: known
      ? "The host's disk is full."
      : isEngineError(error)
        ? fromEngineError(error).message
        : 'The service failed.',
    hint: known
      ? 'Free space on the disk of the service.'
      : 'Try again. If the error repeats, read the log of the service.',
    details: {},
  }
}
