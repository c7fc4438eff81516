import { useHoltQuery } from '../session/use-holt-query.ts'

/** The interval between two reads of the host, in milliseconds. */
const readMs = 3_000

/** Returns the hosts of the installation, as they were a few seconds ago. */
export function useHosts() {
  return useHoltQuery({
    key: ['hosts'],
    read: (holt, signal) => holt.hosts.list({ signal }).all(),
    refetchInterval: readMs,
  })
}
