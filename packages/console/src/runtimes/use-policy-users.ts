import type { RuntimeState } from '@holt/sdk'
import { useHoltQuery } from '../session/use-holt-query.ts'

const liveStates: readonly RuntimeState[] = ['starting', 'running', 'pausing', 'paused', 'resuming', 'terminating']

/** Reads the runtimes that have a stored policy and have not ended. */
export function usePolicyUsers(policyId: string) {
  return useHoltQuery({
    key: ['policies', policyId, 'users'],
    read: (holt, signal) =>
      holt.runtimes.list({ network_policy: policyId, state: liveStates, limit: 100 }, { signal }).all(),
  })
}
