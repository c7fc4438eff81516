import { HoltError, isIdParam } from '@holt/protocol'
import { comparedNames, idNotFound, nameNotFound } from '../../foundation/errors/not-found.ts'
import { foundFor } from '../../foundation/request/request-context.ts'
import { lacksFiles } from '../../foundation/rows/files-missing.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { SnapshotRow } from '../../foundation/store/tables.ts'

/** Returns a project's snapshot by name or id. A failed snapshot is not found by its name. */
export async function findSnapshot(
  db: Queries,
  { projectId, reference }: { projectId: string; reference: string },
): Promise<SnapshotRow> {
  const snapshots = db.selectFrom('snapshots').selectAll().where('project_id', '=', projectId)
  const row = await (isIdParam('snapshot_id', reference)
    ? snapshots.where('snapshot_id', '=', reference)
    : snapshots.where('name', '=', reference).where('state', '!=', 'failed')
  ).executeTakeFirst()
  if (row === undefined) throw await notFound(db, projectId, reference)
  foundFor(reference, row.snapshot_id)
  return row
}

async function notFound(db: Queries, projectId: string, reference: string): Promise<HoltError> {
  if (isIdParam('snapshot_id', reference)) return idNotFound('snapshot_not_found', reference)
  return nameNotFound('snapshot_not_found', reference, async () => {
    const named = db.selectFrom('snapshots').select('name').where('project_id', '=', projectId)
    const rows = await named
      .where('name', 'is not', null)
      .where('state', '!=', 'failed')
      .orderBy('created_at', 'desc')
      .limit(comparedNames)
      .execute()
    return rows.map(({ name }) => name)
  })
}

/** Throws if nothing can be made from a snapshot in its state. */
export function requireWritten(row: SnapshotRow): void {
  const { state, name, snapshot_id, state_reason_json } = row
  if (state === 'ready') return
  const shown = name ?? snapshot_id
  const details = { state }
  if (state === 'writing')
    throw new HoltError('unavailable', `The snapshot ${shown} is being written.`, {
      details: { ...details, retry_after_secs: 1 },
    })
  const reason = state_reason_json === null ? null : (JSON.parse(state_reason_json) as { message: string })
  if (lacksFiles(row))
    throw new HoltError('conflict', `The snapshot ${shown} is incomplete: ${reason?.message}`, {
      hint: 'Restore the file and restart the service, or take another snapshot.',
      details,
    })
  throw new HoltError('conflict', `The snapshot ${shown} could not be written: ${reason?.message ?? 'it failed'}`, {
    hint: 'Take another snapshot.',
    details,
  })
}
