import type { Runtime, RuntimeState } from '@holt/sdk'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'

const liveStates: readonly RuntimeState[] = ['starting', 'running', 'pausing', 'paused', 'resuming', 'terminating']

/** The maximum number of users that are read: one page of the service. */
const mostRead = 100

/** The interval between two reads in milliseconds. */
const usersMs = 20_000

/** The thing whose users are read, by the filter of the service: its id. */
export type UsedThing =
  | { readonly network_policy: string }
  | { readonly secret: string }
  | { readonly snapshot: string }
  | { readonly template: string }

/** The runtimes that use a thing. */
export interface Users {
  readonly runtimes: readonly Runtime[]
  /** False if there are more than were read. */
  readonly isAll: boolean
}

/**
 * Reads the runtimes that use a thing and have not ended, newest first: at most 100. A key needs
 * `runtime:read` for it.
 */
export function useUsers(thing: UsedThing) {
  const { session } = useSession()
  const [[kind = '', id = ''] = []] = Object.entries(thing)
  return useHoltQuery({
    key: ['users', kind, id],
    read: async (holt, signal): Promise<Users> => {
      const page = await holt.runtimes.list({ ...thing, state: liveStates, limit: mostRead }, { signal }).page()
      return { runtimes: page.data, isAll: page.next_cursor === null }
    },
    refetchInterval: usersMs,
    enabled: mayUse(session, 'runtime:read'),
  })
}

/** Returns the number of users as text: `100 or more` if not all were read. */
export function usersText({ runtimes, isAll }: Users): string {
  if (!isAll) return `${runtimes.length} or more runtimes`
  return runtimes.length === 1 ? '1 runtime' : `${runtimes.length} runtimes`
}
