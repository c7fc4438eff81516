import { HoltApiError } from './errors.ts'

/**
 * Returns the build that a refused request must wait for, because its template is being built; else
 * null.
 */
export function buildToWaitFor(error: unknown): string | null {
  if (!(error instanceof HoltApiError) || error.code !== 'unavailable') return null
  const { build_id, template_state } = error.details ?? {}
  return template_state === 'building' && typeof build_id === 'string' ? build_id : null
}
