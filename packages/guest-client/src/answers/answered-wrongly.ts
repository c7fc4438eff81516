import { EngineError } from '@holt/engine'
import type { z } from 'zod'

/**
 * Returns the error for an answer that the protocol does not allow. `what` is Holt's own text,
 * without words of the guest.
 */
export function answeredWrongly(what: string, options?: ErrorOptions): EngineError {
  return new EngineError('wrong_answer', `the guest answered wrongly: ${what}`, options)
}

/**
 * Returns the error for an answer that its schema refuses. It names the field, but not the value.
 */
export function refusedBy(error: z.ZodError | undefined): EngineError {
  const issue = error?.issues[0]
  if (issue === undefined) return answeredWrongly('it is not JSON')
  return answeredWrongly(issue.path.length === 0 ? 'it has another shape' : `the field ${issue.path.join('.')}`)
}
