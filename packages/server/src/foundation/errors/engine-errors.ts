import { EngineError, type EngineErrorKind } from '@holt/engine'
import { type ErrorCode, HoltError } from '@holt/protocol'

/**
 * The client's error for each engine failure. The engine's own message may name host paths and
 * stays in the log.
 */
const meanings: Readonly<
  Record<EngineErrorKind, { readonly code: ErrorCode; readonly message: string; readonly hint?: string }>
> = {
  conflict: { code: 'conflict', message: 'Another request is changing the runtime.' },
  not_found: { code: 'runtime_not_running', message: 'The runtime does not run.' },
  gone: { code: 'runtime_not_running', message: 'The runtime has ended.' },
  in_use: { code: 'in_use', message: 'It is in use.' },
  invalid: { code: 'unsupported_setting', message: 'The host refuses this combination of settings.' },
  not_supported: { code: 'not_supported_here', message: 'This host cannot do that.' },
  no_space: { code: 'disk_full', message: "The host's disk is full." },
  incompatible: { code: 'snapshot_incompatible', message: 'It was written by another engine or on another CPU.' },
  damaged: { code: 'snapshot_damaged', message: 'Its files have changed since they were written.' },
  unavailable: { code: 'unavailable', message: "The runtime's guest does not answer." },
  failed: { code: 'unavailable', message: "The runtime's guest or its host failed." },
  wrong_answer: {
    code: 'unavailable',
    message: "The runtime's guest sent an invalid answer.",
    hint: 'Create a new runtime: a program inside may have replaced the guest.',
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
