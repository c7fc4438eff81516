import type { HostRow } from '../store/tables.ts'
import type { HostDirectory } from './host-directory.ts'

/**
 * Returns the hosts of a fleet that take runtimes: they are ready and not suspect. `ownHostId` is
 * this host, which does not doubt itself.
 */
export function readyHosts(hosts: HostDirectory, ownHostId: string): readonly HostRow[] {
  return hosts.rows.filter(
    ({ host_id, state }) => state === 'ready' && (host_id === ownHostId || hosts.silentMs(host_id) === null),
  )
}
