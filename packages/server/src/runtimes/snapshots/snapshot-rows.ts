import { HoltError } from '@holt/protocol'
import type { Insertable } from 'kysely'
import { ownedBy } from '../../foundation/host/this-host.ts'
import { requireRoom } from '../../foundation/rows/named-rows.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import type { SnapshotRow, Tables } from '../../foundation/store/tables.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import { requireQuotas } from '../../tenancy/projects/require-quotas.ts'
import type { Runtimes } from '../runtimes.ts'
import type { Reason } from '../state/change-state.ts'

/** Inserts the row of a snapshot before any of its files exist. */
export async function insertSnapshot(
  service: Runtimes,
  row: Insertable<Tables['snapshots']> & { readonly state: 'writing' },
): Promise<SnapshotRow> {
  return service.store.change(aloneWith(row.project_id), async (changes) => {
    await requireRoom(changes, 'snapshots', row.project_id)
    // The size is not known yet. A snapshot is not begun if no bytes are left.
    await requireQuotas(service, changes, { projectId: row.project_id, adds: { snapshot_bytes: 1 } })
    await requireFreeSnapshotName(changes, row)
    const stored = await changes
      .insertInto('snapshots')
      .values({ ...row, ...ownedBy(service.thisHost) })
      .returningAll()
      .executeTakeFirstOrThrow()
    await tell(changes, stored, { from: null, reason: null, at: row.created_at })
    return stored
  })
}

/**
 * Marks a snapshot as ready, with its final facts. Returns null if it was deleted meanwhile. Throws
 * if it exceeds its project's quota.
 */
export async function finishSnapshot(
  service: Runtimes,
  changes: Changes,
  row: SnapshotRow,
  facts: Pick<SnapshotRow, 'image_digest' | 'size_bytes' | 'settings_json'>,
): Promise<SnapshotRow | null> {
  await requireQuotas(service, changes, {
    projectId: row.project_id,
    adds: { snapshot_bytes: facts.size_bytes ?? 0 },
  })
  return leave(changes, row, { from: 'writing', facts: { ...facts, state: 'ready' }, reason: null, at: service.now() })
}

/** Marks a snapshot as failed, with the reason. A deleted or a ready one stays unchanged. */
export async function failSnapshot(
  { store, now }: Pick<Runtimes, 'store' | 'now'>,
  row: Pick<SnapshotRow, 'project_id' | 'snapshot_id'>,
  reason: Reason,
): Promise<void> {
  await store.change(aloneWith(row.project_id), (changes) =>
    leave(changes, row, { from: 'writing', ...asFailed(reason), at: now() }),
  )
}

/** Marks a snapshot as incomplete, with the reason. */
export async function markLacking(
  { store, now }: Pick<Runtimes, 'store' | 'now'>,
  row: SnapshotRow,
  reason: Reason,
): Promise<void> {
  await store.change(aloneWith(row.project_id), (changes) =>
    leave(changes, row, { from: 'ready', ...asFailed(reason), at: now() }),
  )
}

/** Marks an incomplete snapshot as ready again, unless another one has its name now. */
export async function markWhole({ store, now }: Runtimes, row: SnapshotRow): Promise<void> {
  await store.change(aloneWith(row.project_id), async (changes) => {
    if ((await namesake(changes, row)) !== undefined) return
    const facts = { state: 'ready', state_reason_json: null } as const
    await leave(changes, row, { from: 'failed', facts, reason: null, at: now() })
  })
}

function asFailed(reason: Reason) {
  return { facts: { state: 'failed', state_reason_json: JSON.stringify(reason) }, reason } as const
}

interface Left {
  readonly from: SnapshotRow['state']
  readonly facts: Partial<SnapshotRow> & Pick<SnapshotRow, 'state'>
  readonly reason: Reason | null
  readonly at: number
}

async function leave(
  changes: Changes,
  row: Pick<SnapshotRow, 'project_id' | 'snapshot_id'>,
  { from, facts, reason, at }: Left,
): Promise<SnapshotRow | null> {
  const stored = await changes
    .updateTable('snapshots')
    .set(facts)
    .where('project_id', '=', row.project_id)
    .where('snapshot_id', '=', row.snapshot_id)
    .where('state', '=', from)
    .returningAll()
    .executeTakeFirst()
  if (stored === undefined) return null
  await tell(changes, stored, { from, reason, at })
  return stored
}

type Named = Pick<Insertable<Tables['snapshots']>, 'project_id' | 'name'>

async function requireFreeSnapshotName(changes: Queries, row: Named): Promise<void> {
  const taken = await namesake(changes, row)
  if (taken === undefined) return
  throw new HoltError('name_taken', `A snapshot named ${row.name} exists.`, {
    details: { snapshot_id: taken.snapshot_id },
  })
}

/** Returns the snapshot that currently has a name. */
async function namesake(changes: Queries, { project_id, name }: Named) {
  if (name == null) return undefined
  return changes
    .selectFrom('snapshots')
    .select('snapshot_id')
    .where('project_id', '=', project_id)
    .where('name', '=', name)
    .where('state', '!=', 'failed')
    .executeTakeFirst()
}

async function tell(
  changes: Changes,
  { project_id: projectId, snapshot_id: subjectId, runtime_id, kind, state: to }: SnapshotRow,
  { from, reason, at }: { from: string | null; reason: Reason | null; at: number },
): Promise<void> {
  const data = { from, to, reason, runtime_id, kind }
  await recordEvent(changes, { projectId, type: `snapshot.${to}`, subjectId, data, at })
}
