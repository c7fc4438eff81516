import type { CommandHandle } from '@holt/sdk'
import { useRef } from 'react'
import { useHoltQuery } from '../session/use-holt-query.ts'

/** The maximum number of commands of the list: the newest ones. */
export const mostCommands = 100

/** Returns the key of the query of a runtime's commands, below the id of the session's key. */
export function commandsKey(runtimeId: string): readonly [string, string, string] {
  return ['runtime', runtimeId, 'commands']
}

/**
 * Returns the newest commands of a runtime, as they were a few seconds ago. A list resumes a paused
 * runtime, so it is read while the runtime runs only.
 */
export function useCommands(runtimeId: string) {
  const last = useRef<readonly CommandHandle[]>([])
  return useHoltQuery<readonly CommandHandle[]>({
    key: commandsKey(runtimeId),
    refetchInterval: 2_000,
    read: async (holt, signal) => {
      const { state, commands } = await holt.runtimes.get(runtimeId, { signal })
      if (state === 'running') last.current = (await commands.list({ limit: mostCommands }, { signal }).page()).data
      return last.current
    },
  })
}
