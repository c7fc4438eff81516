import type { Caller } from '../../foundation/request/caller.ts'
import type { Changes } from '../../foundation/store/open-store.ts'
import { type NewEvent, recordEvent } from './record-event.ts'

/** A change that the caller of a request makes to something of its own project. */
interface CallersChange extends Omit<NewEvent, 'projectId'> {
  readonly caller: Pick<Caller, 'projectId' | 'keyId'>
}

/**
 * Writes the event of such a change, in its transaction. The data also have the caller's key, as
 * `by`.
 */
export function recordChange(changes: Changes, { caller, data, ...event }: CallersChange): Promise<void> {
  return recordEvent(changes, { ...event, projectId: caller.projectId, data: { by: caller.keyId, ...data } })
}
