import { type ErrorCode, HoltError } from '@holt/protocol'
import { z } from 'zod'
import { idNotFound, languageNotFound } from '../../foundation/errors/not-found.ts'

/** The maximum number of characters of a message of the bridge in an error. */
const shownLength = 500

/** The things that a request names. Errors repeat the names of the request, not the bridge's. */
export interface Asked {
  readonly contextId?: string | undefined
  readonly runId?: string | undefined
  readonly language?: string | undefined
}

/** A refusal of the bridge. */
export const BridgeFailure = z.object({ code: z.string().max(64), message: z.string().catch('') })
export type BridgeFailure = z.infer<typeof BridgeFailure>

/**
 * Returns the error for an answer that the bridge's protocol does not allow. `what` is Holt's own
 * text, for the log.
 */
export function bridgeFailed(what: string, options: { readonly cause?: unknown } = {}): HoltError {
  const message = 'The code interpreter of the runtime failed, or sent an invalid answer.'
  return new HoltError('code_interpreter_failed', message, { cause: new Error(`the bridge: ${what}`, options) })
}

/** Returns the error for a runtime in which no bridge listens. */
export function interpreterMissing(): HoltError {
  return new HoltError('code_interpreter_missing', 'The runtime has no code interpreter.')
}

/** The codes of the API for refusals whose message is passed on. */
const passedOn: Readonly<Record<number, ErrorCode>> = { 400: 'invalid_request', 409: 'conflict', 413: 'too_large' }

/** Returns the client's error for a refusal of the bridge. */
export function refusalOf(
  status: number,
  { code, message }: BridgeFailure,
  { contextId, runId, language, languages = [] }: Asked & { readonly languages?: readonly string[] },
): HoltError {
  const shown = message.toWellFormed().slice(0, shownLength).toWellFormed()
  if (code === 'kernel_not_started')
    return new HoltError('code_interpreter_failed', `The process of the context did not start: ${shown}`)
  if (code === 'context_not_found' && contextId !== undefined) return idNotFound('code_context_not_found', contextId)
  if (code === 'run_not_found' && runId !== undefined) return idNotFound('code_run_not_found', runId)
  if (code === 'language_not_found' && language !== undefined) return languageNotFound(language, languages)
  // Too many contexts or runs are a conflict: only the quotas of a project are a 429.
  const passed = status === 429 ? 'conflict' : passedOn[status]
  if (passed === undefined) return bridgeFailed(`the status ${status}`)
  return new HoltError(passed, `The code interpreter refuses the request: ${shown || code}`)
}
