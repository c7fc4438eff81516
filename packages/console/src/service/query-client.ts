import { HoltApiError } from '@holt/sdk'
import { QueryCache, QueryClient } from '@tanstack/react-query'
import { onBack } from './connection.ts'

/** The key of the query of this browser's sessions. */
export const sessionsKey = ['sessions'] as const

/**
 * The cache of what the service said. The client of the service retries by itself, so queries do
 * not. A session that has ended shows the page to sign in, wherever that is noticed.
 */
export const queryClient: QueryClient = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 5_000 }, mutations: { retry: false } },
  queryCache: new QueryCache({
    onError: (error, { queryKey }) => {
      if (error instanceof HoltApiError && error.httpStatus === 401 && queryKey[0] !== sessionsKey[0])
        void queryClient.invalidateQueries({ queryKey: sessionsKey })
    },
  }),
})

onBack(() => void queryClient.invalidateQueries())
