import { HoltError } from '@holt/protocol'
import type { RuntimeRef } from '../runtimes/find-runtime.ts'
import type { Service } from '../service.ts'

/** Notes whether the guest has a network. */
export async function noteGuest({ store }: Service, { projectId, runtimeId }: RuntimeRef, has: boolean): Promise<void> {
  await store.db
    .updateTable('runtime_networks')
    .set({ guest_has_it: has ? 1 : 0 })
    .where('project_id', '=', projectId)
    .where('runtime_id', '=', runtimeId)
    .execute()
}

/** The error for a runtime whose guest has no network device though it should. */
export function noDevice(): HoltError {
  return new HoltError('unavailable', 'The runtime could not set up its network device.')
}
