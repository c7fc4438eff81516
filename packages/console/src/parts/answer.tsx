import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'

interface AnswerProps<Data> {
  /** A query of TanStack Query. */
  readonly query: { readonly data: Data | undefined; readonly error: unknown; readonly isPending: boolean }
  /** Names what is loaded: `the snapshots`. */
  readonly what: string
  readonly children: (data: Data) => ReactNode
}

/** Shows the answer to a query: that it is loading, its error, and the data once there is some. */
export function Answer<Data>({ query, what, children }: AnswerProps<Data>) {
  return (
    <>
      {query.error === null ? null : <ErrorNotice error={query.error} />}
      {query.data !== undefined ? children(query.data) : query.isPending ? <p role="status">Loading {what}…</p> : null}
    </>
  )
}
