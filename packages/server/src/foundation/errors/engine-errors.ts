import { EngineError, type EngineErrorKind } from '@holt/engine'
import { type ErrorCode, HoltError } from '@holt/protocol'

/**
 * The client's error for each engine failure. The engine's own message may name host paths and
 * stays in the log.
 */
const meanings: Readonly<
  Record<EngineErrorKind, { readonly code: ErrorCode; readonly message: string; readonly hint?: string }>
> = {
  conflict: { code: 'conflict', message: 'The runtime is being changed by something else.' },
  not_found: { code: 'runtime_not_running', message: 'The runtime does not run.' },
  gone: { code: 'runtime_not_running', message: 'The runtime has ended.' },
  in_use: { code: 'in_use', message: 'It is in use.' },
  invalid: { code: 'unsupported_setting', message: 'The host refuses this combination of settings.' },
  not_supported: { code: 'not_supported_here', message: 'This host cannot do that.' },
  no_space: { code: 'disk_full', message: "The host's disk is full." },
  incompatible: { code: 'snapshot_incompatible', message: 'It was written by another engine or on another CPU.' },
  damaged: { code: 'snapshot_damaged', message: 'Its files are not what was written.' },
  unavailable: { code: 'unavailable', message: "The runtime's guest does not answer." },
  failed: { code: 'unavailable', message: "The runtime's guest or its host failed." },
  wrong_answer: {
    code: 'unavailable',
    message: "The runtime's guest answered wrongly.",
    hint: 'A program inside may have taken its place: create a new runtime.',
  },
}

/** Returns true for an engine's own error. */
export function isEngineError(error: unknown): error is EngineError {
  return error instanceof EngineError
}

/**
 * Returns true for an engine error that a retry may resolve. Excludes faults of the engine itself
 * and wrong answers of the guest.
 */
export function isBreak(error: unknown): boolean {
  return isEngineError(error) && error.kind !== 'failed' && error.kind !== 'wrong_answer'
}

/** Returns the catalogue error for an engine error. */
export function fromEngineError(error: EngineError): HoltError {
  const { code, message, ...more } = meanings[error.kind]
  return new HoltError(code, message, { ...more, cause: error })
}

/** Returns true for the abort reason of a timeout signal. */
export function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError'
}
