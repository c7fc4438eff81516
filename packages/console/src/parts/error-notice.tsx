import { HoltApiError, HoltError } from '@holt/sdk'

/**
 * Shows an error: what happened, what to do, and the id by which the operator finds the request.
 */
export function ErrorNotice({ error }: { readonly error: unknown }) {
  const message = error instanceof Error ? error.message : String(error)
  const hint = error instanceof HoltApiError ? error.wireHint : error instanceof HoltError ? error.hint : null
  const requestId = error instanceof HoltApiError ? error.requestId : null
  return (
    <div className="notice error" role="alert">
      <p>
        <strong>{message}</strong>
      </p>
      {hint === null ? null : <p>{hint}</p>}
      {requestId === null ? null : (
        <p className="muted">
          Request <code>{requestId}</code>
        </p>
      )}
    </div>
  )
}
