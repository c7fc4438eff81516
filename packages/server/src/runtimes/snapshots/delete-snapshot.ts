import { removeSealed } from '../../foundation/sealing/sealed-values.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import type { Runtimes } from '../runtimes.ts'
import { findSnapshot } from './find-snapshot.ts'

/**
 * Deletes a snapshot. Its runtimes continue, including those that are starting. Its files are
 * removed when nothing uses them.
 */
export async function deleteSnapshot(
  service: Runtimes,
  { projectId, reference, by }: { projectId: string; reference: string; by: string },
): Promise<void> {
  const { store, now, collector } = service
  await store.change(aloneWith(projectId), async (changes) => {
    const { snapshot_id: snapshotId, state } = await findSnapshot(changes, { projectId, reference })
    await changes
      .deleteFrom('snapshots')
      .where('project_id', '=', projectId)
      .where('snapshot_id', '=', snapshotId)
      .execute()
    await removeSealed(changes, projectId, snapshotId)
    const data = { from: state, to: 'deleted', by }
    await recordEvent(changes, { projectId, type: 'snapshot.deleted', subjectId: snapshotId, data, at: now() })
  })
  collector.request()
}
