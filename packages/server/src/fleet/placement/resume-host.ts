import { rankHosts } from '@holt/placement'
import { HoltError } from '@holt/protocol'
import type { HostDirectory } from '../../foundation/host/host-directory.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import { readyHosts } from '../../foundation/host/ready-hosts.ts'
import type { Refusals } from '../../foundation/wire/placed-refusals.ts'

/** A paused runtime that belongs to no host. */
export interface StoredRuntime {
  readonly runtimeId: string
  /** The host that may have a copy of what its resume needs. Null: unknown. */
  readonly nearHostId: string | null
  /** The class of hosts that can restore its checkpoint. Null: every host can resume it. */
  readonly classId: string | null
}

/**
 * Returns the host that resumes a paused runtime. It is the one with a copy if that is ready, else
 * one of the ready hosts of its class. The choice stays the same while the hosts do. Hosts that
 * have refused the runtime are left out. Throws the last refusal if no other host may be asked.
 * Throws `snapshot_incompatible` if the fleet has no host of its class, and `unavailable` if none
 * of them is ready.
 */
export function resumeHost(
  hosts: HostDirectory,
  { runtimeId, nearHostId, classId }: StoredRuntime,
  { ownHostId, refusals }: { readonly ownHostId: string; readonly refusals: Refusals },
): string {
  const fitting = hosts.rows.filter((row) => !isJudged(row) && (classId === null || row.class_id === classId))
  const refused = refusals.hostIds
  const ready = readyHosts(hosts, ownHostId)
    .filter((row) => fitting.includes(row) && !refused.has(row.host_id))
    .map(({ host_id }) => host_id)
  if (refused.size > 0 && (ready.length === 0 || refusals.left === 0)) throw refusals.last
  if (nearHostId !== null && ready.includes(nearHostId)) return nearHostId
  const [chosen] = rankHosts(runtimeId, ready)
  if (chosen !== undefined) return chosen
  if (fitting.length === 0)
    throw new HoltError('snapshot_incompatible', 'No host of the fleet can restore the runtime.', {
      hint: 'Add a host with the same CPU, kernel and version of gVisor as the one that paused it.',
      details: { runtime_id: runtimeId, class_id: classId },
    })
  throw new HoltError('unavailable', 'No host that can restore the runtime is ready.', {
    details: { reason: 'no_ready_host', runtime_id: runtimeId, retry_after_secs: 5 },
  })
}
