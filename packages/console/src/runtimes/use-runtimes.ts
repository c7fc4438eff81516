import { type Holt, HoltApiError, type RuntimeState } from '@holt/sdk'
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { type RuntimeRow, rowOf } from './runtime-row.ts'

/** The states of the table: all but `terminated`, whose rows would soon be most of them. */
const shownStates: readonly RuntimeState[] = [
  'starting',
  'running',
  'pausing',
  'paused',
  'resuming',
  'terminating',
  'failed',
]

/** The time for which changes are collected before they are read, in milliseconds. */
const collectMs = 250

/** More changes than this at once are read as a new list. */
const mostReads = 20

/** The interval between two lists for a key that may not follow events, in milliseconds. */
const pollMs = 3_000

/** The interval between two lists besides the events, which may miss some, in milliseconds. */
const refreshMs = 60_000

/** Returns the runtimes of the project, and follows their changes. */
export function useRuntimes() {
  const { holt, session } = useSession()
  const queries = useQueryClient()
  const follows = mayUse(session, 'event:read')
  const key = session.key_id
  useEffect(() => {
    if (!follows) return
    const ended = new AbortController()
    void followChanges({ holt, queries, key, signal: ended.signal })
    return () => ended.abort()
  }, [holt, queries, key, follows])
  return useQuery({
    queryKey: runtimesKey(key),
    queryFn: async ({ signal }) =>
      (await holt.runtimes.list({ state: shownStates, limit: 100 }, { signal }).all()).map(rowOf),
    refetchInterval: follows ? refreshMs : pollMs,
  })
}

/** Returns the key of the query of a session's runtimes. */
export function runtimesKey(keyId: string): readonly [string, string] {
  return [keyId, 'runtimes']
}

interface Following {
  readonly holt: Holt
  readonly queries: QueryClient
  readonly key: string
  readonly signal: AbortSignal
}

/** Reads each runtime again that an event names. Follows again after a broken stream. */
async function followChanges({ holt, queries, key, signal }: Following): Promise<void> {
  const changed = new Set<string>()
  let waiting: ReturnType<typeof setTimeout> | undefined
  signal.addEventListener('abort', () => clearTimeout(waiting))
  const read = async () => {
    waiting = undefined
    const ids = [...changed]
    changed.clear()
    if (ids.length > mostReads) return queries.invalidateQueries({ queryKey: runtimesKey(key) })
    const rows = await Promise.all(ids.map((id) => readRow(holt, id, signal)))
    queries.setQueryData<readonly RuntimeRow[]>(runtimesKey(key), (known) => merge(known, ids, rows))
  }
  while (!signal.aborted) {
    try {
      for await (const event of holt.events.follow({ types: ['runtime.*'], signal })) {
        if (event.type === 'dropped') void queries.invalidateQueries({ queryKey: runtimesKey(key) })
        else changed.add(event.subject.id)
        waiting ??= setTimeout(
          () => void read().catch(() => queries.invalidateQueries({ queryKey: runtimesKey(key) })),
          collectMs,
        )
      }
    } catch (error) {
      // The banner says that the service is away, and the sign-in page that the session has ended.
      if (signal.aborted || (error instanceof HoltApiError && error.httpStatus < 500)) return
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    void queries.invalidateQueries({ queryKey: runtimesKey(key) })
  }
}

/** Returns the row of a runtime; null if it has ended and left the table. */
async function readRow(holt: Holt, id: string, signal: AbortSignal): Promise<RuntimeRow | null> {
  try {
    const row = rowOf(await holt.runtimes.get(id, { signal }))
    return shownStates.includes(row.state) ? row : null
  } catch (error) {
    if (error instanceof HoltApiError && error.code === 'runtime_not_found') return null
    throw error
  }
}

/** Puts rows in the place of known ones. New rows come first, because the newest do. */
function merge(
  known: readonly RuntimeRow[] | undefined,
  ids: readonly string[],
  read: readonly (RuntimeRow | null)[],
): readonly RuntimeRow[] | undefined {
  if (known === undefined) return undefined
  const news = new Map(ids.map((id, at) => [id, read[at] ?? null]))
  const kept = known.flatMap((row) => (news.has(row.id) ? (news.get(row.id) ?? []) : row))
  const there = new Set(known.map(({ id }) => id))
  const added = [...news.values()].filter((row) => row !== null && !there.has(row.id)) as RuntimeRow[]
  return [...added.toSorted((one, other) => other.createdAt - one.createdAt), ...kept]
}
