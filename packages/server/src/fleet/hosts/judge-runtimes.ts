import type { RuntimeState } from '@holt/protocol'
import { storedArtifacts } from '../../artifacts/stored-rows.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { neededArtifacts } from '../../runtimes/lifecycle/needed-artifacts.ts'
import type { Reason } from '../../runtimes/state/change-state.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import { checkpointAway, filesLost, resumeLost, runtimeLost } from './host-lost.ts'
import type { JudgedHost, VerdictParts } from './verdict.ts'

/** The rows that one change of a verdict covers. */
export const batchRows = 500

/**
 * Carries a verdict out on some of the runtimes of a lost host. Returns the number of runtimes that
 * were looked at.
 */
export async function judgeRuntimes({ store, now }: VerdictParts, host: JudgedHost): Promise<number> {
  const { host_id, epoch, state } = host
  const rows = await store.db
    .selectFrom('runtimes')
    .select(['project_id', 'runtime_id'])
    .where('host_id', '=', host_id)
    .where('ended_at', 'is', null)
    .where(({ eb, or }) =>
      // The disk of a host that is gone does not come back.
      state === 'gone' ? or([eb('host_epoch', '<', epoch), eb('state', '=', 'paused')]) : eb('host_epoch', '<', epoch),
    )
    .limit(batchRows)
    .execute()
  if (rows.length === 0) return 0
  for (const [projectId, own] of Map.groupBy(rows, ({ project_id }) => project_id)) {
    const ids = own.map(({ runtime_id }) => runtime_id)
    await store.change(aloneWith(projectId), async (changes) => {
      const live = await changes
        .selectFrom('runtimes')
        .selectAll()
        .where('project_id', '=', projectId)
        .where('runtime_id', 'in', ids)
        .where('host_id', '=', host_id)
        .where('ended_at', 'is', null)
        .execute()
      const isStored = await storedPauses(changes, live)
      for (const row of live) await judgeOne(changes, row, { host, isStored: isStored(row), at: now() })
    })
  }
  return rows.length
}

/**
 * Returns which of some runtimes can be resumed without their host: what a resume needs is in the
 * object store. A pause of the files alone has nothing to resume from before its row says `paused`.
 */
async function storedPauses(db: Queries, rows: readonly RuntimeRow[]): Promise<(row: RuntimeRow) => boolean> {
  const away = rows.filter(
    ({ state, pause_checkpoint_id }) =>
      state === 'paused' || state === 'resuming' || (state === 'pausing' && pause_checkpoint_id !== null),
  )
  const stored = await storedArtifacts(
    db,
    away.flatMap(neededArtifacts).map(({ id }) => id),
  )
  return (row) => away.includes(row) && neededArtifacts(row).every(({ id }) => stored.has(id))
}

/** The future of a runtime of a lost host. */
interface Sentence {
  readonly to: RuntimeState
  readonly reason: Reason | null
}

/** Returns the future of a runtime. `isStored`: it can be resumed without its host. */
function sentenceOf(
  { state, pause_checkpoint_id }: RuntimeRow,
  { isStored, isGone }: { readonly isStored: boolean; readonly isGone: boolean },
): Sentence {
  switch (state) {
    case 'starting':
    case 'running':
      return { to: 'failed', reason: runtimeLost }
    case 'pausing':
      // Its files since its start were on that host alone.
      if (pause_checkpoint_id === null) return { to: 'failed', reason: runtimeLost }
      return isStored ? { to: 'paused', reason: null } : away(isGone)
    case 'resuming':
      return isStored ? { to: 'paused', reason: resumeLost } : away(isGone)
    case 'paused':
      return isStored ? { to: 'paused', reason: null } : away(isGone)
    case 'terminating':
      return { to: 'terminated', reason: null }
    case 'terminated':
    case 'failed':
      return { to: state, reason: null }
  }
}

function away(isGone: boolean): Sentence {
  return isGone ? { to: 'failed', reason: filesLost } : { to: 'paused', reason: checkpointAway }
}

async function judgeOne(
  changes: Changes,
  row: RuntimeRow,
  { host, isStored, at }: { readonly host: JudgedHost; readonly isStored: boolean; readonly at: number },
): Promise<void> {
  const { to, reason } = sentenceOf(row, { isStored, isGone: host.state === 'gone' })
  const hasEnded = to !== 'paused'
  const changed = await changes
    .updateTable('runtimes')
    .set({
      state: to,
      state_reason_json: reason === null ? row.state_reason_json : JSON.stringify(reason),
      updated_at: at,
      revision: row.revision + 1,
      // Nobody runs as this epoch, so nobody acts on the row until its host starts again. A host
      // that is back may still have a copy of what is stored.
      ...(isStored
        ? { host_id: null, host_epoch: null, near_host_id: host.host_id, expires_at: null }
        : { host_epoch: host.epoch }),
      ...(hasEnded ? { ended_at: at } : {}),
      ...(to === 'paused' && row.paused_at === null ? { paused_at: at } : {}),
    })
    .where('runtime_id', '=', row.runtime_id)
    .where('revision', '=', row.revision)
    .where('host_id', '=', host.host_id)
    .where('host_epoch', '=', row.host_epoch)
    .returning('runtime_id')
    .executeTakeFirst()
  if (changed === undefined || to === row.state) return
  await recordEvent(changes, {
    projectId: row.project_id,
    type: `runtime.${to}`,
    subjectId: row.runtime_id,
    data: { from: row.state, to, reason },
    at,
  })
}
