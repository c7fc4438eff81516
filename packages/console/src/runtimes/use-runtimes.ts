import type { Holt } from '@holt/sdk'
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { isRefusal, rereadRows, runtimesKey, runtimesQuery } from './runtimes-query.ts'

/** The time for which changes are collected before they are read, in milliseconds. */
const collectMs = 250

/** More changes than this at once are read as a new list. */
const mostReads = 500

/** The interval between two lists for a key that may not follow events, in milliseconds. */
const pollMs = 3_000

/** The interval between two lists besides the events, which may miss some, in milliseconds. */
const refreshMs = 60_000

/** Returns the runtimes of the project, and follows their changes. */
export function useRuntimes() {
  const { holt, session } = useSession()
  const queries = useQueryClient()
  const follows = mayUse(session, 'event:read')
  const keyId = session.key_id
  useEffect(() => {
    if (!follows) return
    const ended = new AbortController()
    void followChanges({ holt, queries, keyId, signal: ended.signal })
    return () => ended.abort()
  }, [holt, queries, keyId, follows])
  return useQuery({ ...runtimesQuery(holt, keyId), refetchInterval: follows ? refreshMs : pollMs })
}

interface Following {
  readonly holt: Holt
  readonly queries: QueryClient
  readonly keyId: string
  readonly signal: AbortSignal
}

/** Reads the runtimes again that events name. Follows again after a broken stream. */
async function followChanges(following: Following): Promise<void> {
  const { holt, queries, keyId, signal } = following
  const changed = new Set<string>()
  let waiting: ReturnType<typeof setTimeout> | undefined
  signal.addEventListener('abort', () => clearTimeout(waiting))
  const readAll = () => queries.invalidateQueries({ queryKey: runtimesKey(keyId) })
  const read = async () => {
    const ids = [...changed]
    changed.clear()
    try {
      await (ids.length > mostReads ? readAll() : rereadRows(following, ids))
    } catch {
      void readAll() // The list says what is wrong, if it still is.
    }
    waiting = undefined
    if (changed.size > 0) waitAndRead()
  }
  const waitAndRead = () => {
    if (!signal.aborted) waiting ??= setTimeout(() => void read(), collectMs)
  }
  while (!signal.aborted) {
    try {
      for await (const event of holt.events.follow({ types: ['runtime.*'], signal })) {
        if (event.type === 'dropped') void readAll()
        else changed.add(event.subject.id)
        waitAndRead()
      }
    } catch (error) {
      // The banner says that the service is away, and the sign-in page that the session has ended.
      if (signal.aborted || isRefusal(error)) return
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    void readAll()
  }
}
