import { useHoltQuery } from '../session/use-holt-query.ts'

/** Returns the key of the query of a runtime's network. */
export function networkKey(id: string): readonly [string, string, string] {
  return ['runtime', id, 'network']
}

/** Returns the policy and the secrets of a runtime. Reading them does not wake it. */
export function useRuntimeNetwork(id: string) {
  return useHoltQuery({
    key: networkKey(id),
    read: async (holt, signal) => (await holt.runtimes.get(id, { signal })).network.get({ signal }),
  })
}
