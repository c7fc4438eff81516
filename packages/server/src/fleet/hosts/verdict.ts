import type { RuntimeState } from '@holt/protocol'
import { endInterrupted } from '../../builds/recover-builds.ts'
import { judgedStates } from '../../foundation/host/host-row.ts'
import { aloneWith, aloneWithRow } from '../../foundation/store/alone.ts'
import type { Changes, Store } from '../../foundation/store/open-store.ts'
import type { HostRow, RuntimeRow } from '../../foundation/store/tables.ts'
import { failSnapshot, markLacking } from '../../runtimes/snapshots/snapshot-rows.ts'
import type { Reason } from '../../runtimes/state/change-state.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import { buildLost, checkpointAway, filesLost, runtimeLost, snapshotLost } from './host-lost.ts'

/** The rows that one change of a verdict covers. */
const batchRows = 500

/** The parts of a service that a verdict needs. */
export interface VerdictParts {
  readonly store: Store
  readonly now: () => number
}

/** A host with the epoch of a verdict: its rows of earlier epochs are judged. */
export type JudgedHost = Pick<HostRow, 'host_id' | 'epoch' | 'state'>

/**
 * Says that a host is lost, if its epoch and its beat are still those that were seen. From then on
 * no beat of that epoch succeeds, so the host can never believe again that it holds its lease.
 * Returns false if the host has sent a beat meanwhile. With `beat` null an operator says so, and
 * the host is lost whatever it sends.
 */
export async function passVerdict(
  { store }: Pick<VerdictParts, 'store'>,
  { hostId, epoch, beat }: { readonly hostId: string; readonly epoch: number; readonly beat: number | null },
): Promise<boolean> {
  const row = await store.change(aloneWithRow, async (changes) => {
    const known = changes
      .updateTable('hosts')
      .set({ state: 'lost', epoch: epoch + 1 })
      .where('host_id', '=', hostId)
      .where('epoch', '=', epoch)
      .where('state', 'not in', judgedStates)
      .returning('host_id')
    return (beat === null ? known : known.where('beat', '=', beat)).executeTakeFirst()
  })
  return row !== undefined
}

/**
 * Carries a verdict out on some of the rows of a lost host, those of earlier epochs. Returns true
 * if rows may be left. May run at any time, on several hosts at once, and again: an insert of a
 * judged epoch may have been on its way.
 */
export async function carryOut(parts: VerdictParts, host: JudgedHost): Promise<boolean> {
  const runtimes = await judgeRuntimes(parts, host)
  await endInterrupted(parts, { hostId: host.host_id, before: host.epoch, reason: buildLost })
  await failSnapshots(parts, host)
  return runtimes === batchRows
}

/** Returns the number of runtimes that were looked at. */
async function judgeRuntimes({ store, now }: VerdictParts, host: JudgedHost): Promise<number> {
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
      for (const row of live) await judgeOne(changes, row, { host, at: now() })
    })
  }
  return rows.length
}

/** The future of a runtime of a lost host. */
interface Sentence {
  readonly to: RuntimeState
  readonly reason: Reason | null
}

/** Returns the future of a runtime. Its checkpoint is on the disk of its host alone. */
function sentenceOf(state: RuntimeState, isGone: boolean): Sentence {
  switch (state) {
    case 'starting':
    case 'running':
      return { to: 'failed', reason: runtimeLost }
    case 'pausing':
    case 'paused':
    case 'resuming':
      return isGone ? { to: 'failed', reason: filesLost } : { to: 'paused', reason: checkpointAway }
    case 'terminating':
      return { to: 'terminated', reason: null }
    case 'terminated':
    case 'failed':
      return { to: state, reason: null }
  }
}

async function judgeOne(
  changes: Changes,
  row: RuntimeRow,
  { host, at }: { readonly host: JudgedHost; readonly at: number },
): Promise<void> {
  const { to, reason } = sentenceOf(row.state, host.state === 'gone')
  const hasEnded = to !== 'paused'
  const changed = await changes
    .updateTable('runtimes')
    .set({
      state: to,
      state_reason_json: reason === null ? row.state_reason_json : JSON.stringify(reason),
      updated_at: at,
      revision: row.revision + 1,
      // Nobody runs as this epoch, so nobody acts on the row until its host starts again.
      host_epoch: host.epoch,
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

async function failSnapshots(parts: VerdictParts, { host_id, epoch, state }: JudgedHost): Promise<void> {
  const { db } = parts.store
  const own = db.selectFrom('snapshots').selectAll().where('host_id', '=', host_id)
  const writing = await own.where('state', '=', 'writing').where('host_epoch', '<', epoch).execute()
  for (const row of writing) await failSnapshot(parts, row, snapshotLost)
  if (state !== 'gone') return
  for (const row of await own.where('state', '=', 'ready').execute()) await markLacking(parts, row, filesLost)
}
