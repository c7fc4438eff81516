import { HoltError } from '@holt/protocol'
import type { Insertable } from 'kysely'
import { recordEvent } from '../events/record-event.ts'
import { requireQuotas } from '../projects/require-quotas.ts'
import type { Reason } from '../runtimes/change-state.ts'
import type { Service } from '../service.ts'
import { requireRoom } from '../store/named-rows.ts'
import type { Queries } from '../store/open-store.ts'
import type { SnapshotRow, Tables } from '../store/tables.ts'

/** Writes the row of a snapshot before anything of it exists. */
export async function insertSnapshot(
  service: Service,
  row: Insertable<Tables['snapshots']> & { readonly state: 'writing' },
): Promise<SnapshotRow> {
  return service.store.change(async (changes) => {
    await requireRoom(changes, 'snapshots', row.project_id)
    // How many bytes it will have is not known yet: where none is left it is not begun.
    await requireQuotas(service, changes, { projectId: row.project_id, adds: { snapshot_bytes: 1 } })
    await requireFreeSnapshotName(changes, row)
    const stored = await changes.insertInto('snapshots').values(row).returningAll().executeTakeFirstOrThrow()
    await tell(changes, stored, { from: null, reason: null, at: row.created_at })
    return stored
  })
}

/** Says that a snapshot is ready, with what is known of it by then. Null where it was deleted meanwhile. Refuses one that is more than its project may have. */
export async function finishSnapshot(
  service: Service,
  changes: Queries,
  row: SnapshotRow,
  facts: Pick<SnapshotRow, 'image_digest' | 'size_bytes' | 'settings_json'>,
): Promise<SnapshotRow | null> {
  await requireQuotas(service, changes, {
    projectId: row.project_id,
    adds: { snapshot_bytes: facts.size_bytes ?? 0 },
  })
  return leaveWriting(changes, row, { facts: { ...facts, state: 'ready' }, reason: null, at: service.now() })
}

/** Says that a snapshot could not be written, and why. One that was deleted meanwhile is as it is, and so is one that is ready though nobody could say so. */
export async function failSnapshot(
  { store, now }: Service,
  row: Pick<SnapshotRow, 'project_id' | 'snapshot_id'>,
  reason: Reason,
): Promise<void> {
  await store.change(async (changes) => {
    const facts = { state: 'failed', state_reason_json: JSON.stringify(reason) } as const
    await leaveWriting(changes, row, { facts, reason, at: now() })
  })
}

interface Left {
  readonly facts: Partial<SnapshotRow> & Pick<SnapshotRow, 'state'>
  readonly reason: Reason | null
  readonly at: number
}

async function leaveWriting(
  changes: Queries,
  row: Pick<SnapshotRow, 'project_id' | 'snapshot_id'>,
  { facts, reason, at }: Left,
): Promise<SnapshotRow | null> {
  const stored = await changes
    .updateTable('snapshots')
    .set(facts)
    .where('project_id', '=', row.project_id)
    .where('snapshot_id', '=', row.snapshot_id)
    .where('state', '=', 'writing')
    .returningAll()
    .executeTakeFirst()
  if (stored === undefined) return null
  await tell(changes, stored, { from: 'writing', reason, at })
  return stored
}

async function requireFreeSnapshotName(
  changes: Queries,
  { project_id, name }: Pick<Insertable<Tables['snapshots']>, 'project_id' | 'name'>,
): Promise<void> {
  if (name == null) return
  const taken = await changes
    .selectFrom('snapshots')
    .select('snapshot_id')
    .where('project_id', '=', project_id)
    .where('name', '=', name)
    .where('state', '!=', 'failed')
    .executeTakeFirst()
  if (taken === undefined) return
  throw new HoltError('name_taken', `A snapshot named ${name} exists.`, {
    details: { snapshot_id: taken.snapshot_id },
  })
}

async function tell(
  changes: Queries,
  { project_id: projectId, snapshot_id: subjectId, runtime_id, kind, state: to }: SnapshotRow,
  { from, reason, at }: { from: string | null; reason: Reason | null; at: number },
): Promise<void> {
  const data = { from, to, reason, runtime_id, kind }
  await recordEvent(changes, { projectId, type: `snapshot.${to}`, subjectId, data, at })
}
