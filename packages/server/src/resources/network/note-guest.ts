import { HoltError } from '@holt/protocol'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { Resources } from '../resources.ts'

/** Records the presence or absence of the guest's network. */
export async function noteGuest(
  { store }: Resources,
  { projectId, runtimeId }: RuntimeRef,
  has: boolean,
): Promise<void> {
  await store.db
    .updateTable('runtime_networks')
    .set({ guest_has_it: has ? 1 : 0 })
    .where('project_id', '=', projectId)
    .where('runtime_id', '=', runtimeId)
    .execute()
}

/** Returns the error for a runtime whose guest should have a network device but has none. */
export function noDevice(): HoltError {
  return new HoltError('unavailable', 'The runtime could not set up its network device.')
}
