import type { Runtime } from '@holt/sdk'
import { refreshMs, useHoltQuery } from '../session/use-holt-query.ts'
import { useRuntime } from './runtime-route.ts'

interface InsideQuery<Data> {
  /** The key of the query, below that of the runtime. */
  readonly key: readonly string[]
  readonly read: (runtime: Runtime, signal: AbortSignal) => Promise<Data>
}

/**
 * Reads something from the inside of a runtime. Each read counts as use and resumes a paused
 * runtime. So the page reads only while it runs, and only once if it is to be paused without use.
 */
export function useInsideQuery<Data>({ key, read }: InsideQuery<Data>) {
  const { data: runtime } = useRuntime()
  const id = runtime?.runtime_id ?? ''
  const runs = runtime?.state === 'running'
  const isWatched = runs && runtime.idle_timeout_secs === null
  const query = useHoltQuery({
    key: ['runtime', id, 'inside', ...key],
    read: async (holt, signal) => read(await holt.runtimes.get(id, { signal }), signal),
    refetchInterval: isWatched ? refreshMs : false,
    enabled: runs,
  })
  return { query, runtime, runs, isWatched }
}
