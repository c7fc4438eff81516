import type { ListSnapshotsQuery, Page, Snapshot } from '@holt/protocol'
import { readPage } from '../../foundation/store/page-cursor.ts'
import type { Runtimes } from '../runtimes.ts'
import { presentSnapshot } from './present-snapshot.ts'

/** Returns a project's snapshots, newest first. */
export async function listSnapshots(
  { store, log }: Runtimes,
  projectId: string,
  { name, kind, state, runtime_id, ...page }: ListSnapshotsQuery,
): Promise<Page<Snapshot>> {
  let query = store.db.selectFrom('snapshots').selectAll().where('project_id', '=', projectId)
  if (name !== undefined) query = query.where('name', '=', name)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (state !== undefined) query = query.where('state', '=', state)
  if (runtime_id !== undefined) query = query.where('runtime_id', '=', runtime_id)
  return readPage(query, page, { present: presentSnapshot, log })
}
