import { storedArtifacts } from '../../artifacts/stored-rows.ts'
import { endInterrupted } from '../../builds/recover-builds.ts'
import { judgedStates } from '../../foundation/host/host-row.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Queries, Store } from '../../foundation/store/open-store.ts'
import type { HostRow, SnapshotRow } from '../../foundation/store/tables.ts'
import { failSnapshot, markLacking } from '../../runtimes/snapshots/snapshot-rows.ts'
import { type HostReason, recordHostState } from '../../tenancy/events/record-host-event.ts'
import { buildLost, filesLost, snapshotLost } from './host-lost.ts'
import { batchRows, judgeRuntimes } from './judge-runtimes.ts'

/** The reason of a host that an operator has declared lost. */
export const declaredLost: HostReason = { code: 'declared_lost', message: 'An operator has declared it lost.' }

/** The parts of a service that a verdict needs. */
export interface VerdictParts {
  readonly store: Store
  readonly now: () => number
}

/** A host with the epoch of a verdict: its rows of earlier epochs are judged. */
export type JudgedHost = Pick<HostRow, 'host_id' | 'epoch' | 'state'>

/** A verdict: the epoch and the beat of the host that were seen, and why it is lost. */
interface Verdict {
  readonly hostId: string
  readonly epoch: number
  readonly beat: number | null
  readonly reason: HostReason
}

/**
 * Says that a host is lost, if its epoch and its beat are still those that were seen. From then on
 * no beat of that epoch succeeds, so the host can never believe again that it holds its lease.
 * Returns false if the host has sent a beat meanwhile. With `beat` null an operator says so, and
 * the host is lost whatever it sends.
 */
export async function passVerdict(
  { store, now }: VerdictParts,
  { hostId, epoch, beat, reason }: Verdict,
): Promise<boolean> {
  return store.change(aloneWithRow, async (changes) => {
    const before = await changes.selectFrom('hosts').select('state').where('host_id', '=', hostId).executeTakeFirst()
    const known = changes
      .updateTable('hosts')
      .set({ state: 'lost', epoch: epoch + 1 })
      .where('host_id', '=', hostId)
      .where('epoch', '=', epoch)
      .where('state', 'not in', judgedStates)
      .returning('host_id')
    const row = await (beat === null ? known : known.where('beat', '=', beat)).executeTakeFirst()
    if (row === undefined || before === undefined) return false
    await recordHostState(changes, { hostId, at: now() }, { from: before.state, to: 'lost', reason })
    return true
  })
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

async function failSnapshots(parts: VerdictParts, { host_id, epoch, state }: JudgedHost): Promise<void> {
  const { db } = parts.store
  const own = db.selectFrom('snapshots').selectAll().where('host_id', '=', host_id)
  const writing = await own.where('state', '=', 'writing').where('host_epoch', '<', epoch).execute()
  for (const row of writing) await failSnapshot(parts, row, snapshotLost)
  if (state !== 'gone') return
  for (const row of await own.where('state', '=', 'ready').execute())
    if (!(await isStored(db, row))) await markLacking(parts, row, filesLost)
}

/** Returns true if all files of a snapshot are in the object store. */
async function isStored(db: Queries, { image_digest, checkpoint_id }: SnapshotRow): Promise<boolean> {
  const ids = checkpoint_id === null ? [image_digest] : [image_digest, checkpoint_id]
  return (await storedArtifacts(db, ids)).size === ids.length
}
