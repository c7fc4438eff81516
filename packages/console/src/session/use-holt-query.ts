import type { Holt } from '@holt/sdk'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useSession } from './session-context.ts'

/** The interval after which a page reads again what it shows, in milliseconds. */
export const refreshMs = 5_000

interface HoltQuery<Data> {
  /** The key of the query, below the id of the session's key. */
  readonly key: readonly (string | number | null)[]
  readonly read: (holt: Holt, signal: AbortSignal) => Promise<Data>
  /** The interval between two reads in milliseconds; false reads once. */
  readonly refetchInterval?: number | false
  readonly enabled?: boolean
}

/** Reads with the client of the session, and again while the page is shown. */
export function useHoltQuery<Data>(query: HoltQuery<Data>): UseQueryResult<Data> {
  const { key, read, refetchInterval = refreshMs, enabled = true } = query
  const { holt, session } = useSession()
  return useQuery({
    queryKey: [session.key_id, ...key],
    queryFn: ({ signal }) => read(holt, signal),
    refetchInterval,
    // Data that is read once stays as it is, also when the person comes back to the window.
    refetchOnWindowFocus: refetchInterval !== false,
    enabled,
  })
}
