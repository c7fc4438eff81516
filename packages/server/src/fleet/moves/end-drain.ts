import type { ArtifactRef } from '@holt/engine'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Runtimes } from '../../runtimes/runtimes.ts'
import { recordHostState } from '../../tenancy/events/record-host-event.ts'

/** The reason of a host whose drain has ended. */
const isEmpty = { code: 'drained', message: 'It is empty.' }

/** The time limit for the upload of the artifacts that are left, in milliseconds. */
const storeTimeoutMs = 3_600_000

/** The time for runtimes that cannot move if nobody has set one, in milliseconds. */
const usualMs = 1_800_000

/** Sets the deadline of a drain that has none: the Node of the host was cordoned, for example. */
export async function beginDrain({ store, thisHost, now }: Runtimes): Promise<void> {
  await store.db
    .updateTable('hosts')
    .set({ drain_until: now() + usualMs })
    .where('host_id', '=', thisHost.hostId)
    .where('epoch', '=', thisHost.epoch)
    .where('wanted', '=', 'draining')
    .where('drain_until', 'is', null)
    .execute()
}

/**
 * Returns what keeps this host from being empty besides its runtimes: pool members, builds and
 * snapshots under way. Then stores what only its disk has. Throws if that fails.
 */
export async function findLeft({ store, thisHost, artifacts, closing }: Runtimes): Promise<readonly string[]> {
  const { db } = store
  const { hostId } = thisHost
  const queries = {
    'pooled runtimes': db.selectFrom('pool_members').select('runtime_id').where('host_id', '=', hostId).limit(1),
    builds: db
      .selectFrom('builds')
      .select('build_id')
      .where('host_id', '=', hostId)
      .where('ended_at', 'is', null)
      .limit(1),
    snapshots: db
      .selectFrom('snapshots')
      .select('snapshot_id')
      .where('host_id', '=', hostId)
      .where('state', '=', 'writing')
      .limit(1),
  }
  const left: string[] = []
  for (const [name, query] of Object.entries(queries)) if ((await query.execute()).length > 0) left.push(name)
  if (left.length > 0) return left
  const local = await db
    .selectFrom('artifacts')
    .select(['artifact_id', 'kind'])
    .where('host_id', '=', hostId)
    .where('state', '=', 'local')
    .execute()
  const signal = AbortSignal.any([closing, AbortSignal.timeout(storeTimeoutMs)])
  for (const { artifact_id: id, kind } of local) await artifacts.store({ kind, id } as ArtifactRef, signal)
  return []
}

/** Ends the drain of this host, which is empty: it stays cordoned. */
export async function endDrain({ store, thisHost, log, now }: Runtimes): Promise<void> {
  const { hostId, epoch } = thisHost
  const ended = await store.change(aloneWithRow, async (changes) => {
    const row = await changes
      .updateTable('hosts')
      .set({ state: 'cordoned', wanted: 'cordoned', drain_until: null })
      .where('host_id', '=', hostId)
      .where('epoch', '=', epoch)
      .where('state', '=', 'draining')
      .where('wanted', '=', 'draining')
      .returning('host_id')
      .executeTakeFirst()
    if (row !== undefined)
      await recordHostState(changes, { hostId, at: now() }, { from: 'draining', to: 'cordoned', reason: isEmpty })
    return row
  })
  if (ended !== undefined) log.info({ host_id: hostId }, 'this host is empty')
}
