import type { Holt, Page } from '@holt/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useSession } from './session-context.ts'
import { refreshMs } from './use-holt-query.ts'

/** The start of one page of a long list, and the signal that ends its read. */
interface PageRead {
  readonly cursor: string | undefined
  readonly signal: AbortSignal
}

interface HoltPages<Item> {
  /** The key of the query, below the id of the session's key. */
  readonly key: readonly (string | number | null)[]
  readonly read: (holt: Holt, page: PageRead) => Promise<Page<Item>>
}

/** The part of a long list that was read. */
export interface PagesRead<Item> {
  readonly data: readonly Item[] | undefined
  readonly error: unknown
  readonly isPending: boolean
  readonly isReading: boolean
  /** Reads the next page. Undefined: the list ends here. */
  readonly more: (() => void) | undefined
}

/**
 * Reads a long list page by page. A single page is read again while it is shown. With several
 * pages, new items would move those that a person looks at.
 */
export function useHoltPages<Item>({ key, read }: HoltPages<Item>): PagesRead<Item> {
  const { holt, session } = useSession()
  const query = useInfiniteQuery({
    queryKey: [session.key_id, ...key],
    queryFn: ({ pageParam, signal }) => read(holt, { cursor: pageParam, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : refreshMs),
  })
  const { data, error, isPending, isFetchingNextPage, hasNextPage, fetchNextPage } = query
  return {
    data: data?.pages.flatMap((page) => page.data),
    error,
    isPending,
    isReading: isFetchingNextPage,
    more: hasNextPage ? () => void fetchNextPage() : undefined,
  }
}
