import { getRouteApi } from '@tanstack/react-router'
import { useHoltQuery } from '../session/use-holt-query.ts'

const route = getRouteApi('/runtimes/$runtimeId')

/** Returns the id of the runtime whose page is shown. */
export function useRuntimeId(): string {
  return route.useParams().runtimeId
}

/** Returns the handle of the runtime whose page is shown, with its data of a few seconds ago. */
export function useRuntime() {
  const id = useRuntimeId()
  return useHoltQuery({
    key: ['runtime', id],
    read: (holt, signal) => holt.runtimes.get(id, { signal }),
    refetchInterval: 3_000,
  })
}
