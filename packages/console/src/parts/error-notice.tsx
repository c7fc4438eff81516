import { HoltApiError, HoltError } from '@holt/sdk'
import { shownText } from './shown-text.ts'

/**
 * Shows an error: what happened, what to do, and the id by which the operator finds the request. An
 * error may name a file of a runtime, or repeat what a program has said.
 */
export function ErrorNotice({ error }: { readonly error: unknown }) {
  const message = error instanceof Error ? error.message : String(error)
  const hint = error instanceof HoltApiError ? error.wireHint : error instanceof HoltError ? error.hint : null
  const requestId = error instanceof HoltApiError ? error.requestId : null
  return (
    <div className="notice error" role="alert">
      <p>
        <strong>{shownText(message)}</strong>
      </p>
      {hint === null ? null : <p>{shownText(hint)}</p>}
      {requestId === null ? null : (
        <p className="muted">
          Request <code>{requestId}</code>
        </p>
      )}
    </div>
  )
}
