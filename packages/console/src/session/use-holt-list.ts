import type { Holt, Paginated } from '@holt/sdk'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useSession } from './session-context.ts'
import { refreshMs } from './use-holt-query.ts'

/**
 * The maximum number of rows of a list that is read again at the usual interval: one page of the
 * service.
 */
const shortList = 100

/** The interval between two reads of a longer list, in milliseconds. It takes several requests. */
const longListMs = 30_000

interface HoltList<Item> {
  /** The key of the query, below the id of the session's key. */
  readonly key: readonly (string | number | null)[]
  readonly list: (holt: Holt, options: { readonly signal: AbortSignal; readonly limit: number }) => Paginated<Item>
  readonly enabled?: boolean
}

/** Reads a whole list with the client of the session, again while the page is shown. */
export function useHoltList<Item>({ key, list, enabled = true }: HoltList<Item>): UseQueryResult<readonly Item[]> {
  const { holt, session } = useSession()
  return useQuery<readonly Item[]>({
    queryKey: [session.key_id, ...key],
    queryFn: ({ signal }) => list(holt, { signal, limit: shortList }).all(),
    refetchInterval: ({ state }) => ((state.data?.length ?? 0) > shortList ? longListMs : refreshMs),
    enabled,
  })
}
