import { randomInt } from 'node:crypto'
import { HoltError } from '@holt/protocol'
import type { HostDirectory } from '../../foundation/host/host-directory.ts'

/**
 * Returns the host that answers a create: this one if it is ready, else one of the ready ones.
 * Throws `unavailable` if no host of the fleet is ready.
 */
export function readyHost(hosts: HostDirectory, ownHostId: string): string {
  const ready = hosts.rows
    .filter(({ host_id, state }) => state === 'ready' && hosts.silentMs(host_id) === null)
    .map(({ host_id }) => host_id)
  if (ready.includes(ownHostId)) return ownHostId
  const chosen = ready.length === 0 ? undefined : ready[randomInt(ready.length)]
  if (chosen === undefined)
    throw new HoltError('unavailable', 'No host of the fleet is ready for new runtimes.', {
      details: { reason: 'no_ready_host', retry_after_secs: 5 },
    })
  return chosen
}
