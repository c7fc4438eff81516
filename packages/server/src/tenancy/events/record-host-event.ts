import type { HostEventType } from '@holt/protocol'
import { systemProjectId } from '../../foundation/rows/system-project.ts'
import type { Changes } from '../../foundation/store/open-store.ts'
import type { HostState, HostWish } from '../../foundation/store/tables.ts'
import { recordEvent } from './record-event.ts'

/** The reason of a change, as events show it. */
export interface HostReason {
  readonly code: string
  readonly message: string
}

/** A host that changes, and the time, in milliseconds since 1970 UTC. */
interface ChangedHost {
  readonly hostId: string
  readonly at: number
}

/** Writes the event of a host that has another state, in the transaction of the change. */
export function recordHostState(
  changes: Changes,
  { hostId, at }: ChangedHost,
  {
    from,
    to,
    reason = null,
  }: { readonly from: HostState; readonly to: HostState; readonly reason?: HostReason | null },
): Promise<void> {
  return record(changes, { hostId, at }, { type: `host.${to}`, data: { from, to, reason } })
}

/** Writes the event of a host whose row is new, in the transaction of the insert. */
export function recordHostJoined(changes: Changes, host: ChangedHost, data: { readonly trust: string }): Promise<void> {
  return record(changes, host, { type: 'host.joined', data })
}

/**
 * Writes the event of a host of which somebody wants another state, in the transaction of the
 * change. The host follows with its next beat.
 */
export function recordHostWish(
  changes: Changes,
  host: ChangedHost,
  { wanted, reason = null }: { readonly wanted: HostWish; readonly reason?: HostReason | null },
): Promise<void> {
  return record(changes, host, { type: 'host.updated', data: { changed: ['wanted'], wanted, reason } })
}

/** Events of hosts are in the log of Holt's own project, which operators read. */
function record(
  changes: Changes,
  { hostId, at }: ChangedHost,
  { type, data }: { readonly type: HostEventType; readonly data: object },
): Promise<void> {
  return recordEvent(changes, { projectId: systemProjectId, type, subjectId: hostId, data, at })
}
