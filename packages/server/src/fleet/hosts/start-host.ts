import { makeFirstHost, type NewHost, newHostRow, ownedTables } from '../../foundation/host/host-row.ts'
import { aloneWithService } from '../../foundation/store/alone.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import { recordHostJoined, recordHostState } from '../../tenancy/events/record-host-event.ts'
import { HostLease, type LeaseClocks } from '../lease/host-lease.ts'
import { hostProtocol } from '../peers/protocol-range.ts'
import { hostLostCode } from './host-lost.ts'
import { requireCommonProtocol } from './host-protocol.ts'
import { hasLeft } from './left-fronts.ts'
import { carryOut } from './verdict.ts'

/** The facts of a host that starts. */
interface StartingHost extends NewHost {
  readonly fenceMs: number
  readonly clocks: LeaseClocks
  /** The ids of its master keys. */
  readonly keyIds: readonly string[]
  /** The address at which other hosts reach it. */
  readonly address: string
  readonly now: () => number
}

/**
 * Begins the next epoch of this host, in state `joining`, and returns its lease. The first start
 * inserts its row. A verdict against an earlier epoch is carried out first, so a row of a judged
 * epoch is never adopted. Throws if an operator has forgotten the host, or if it cannot speak with
 * the others.
 */
export async function startHost(store: Store, host: StartingHost): Promise<HostLease> {
  await requireCommonProtocol(store, host.hostId)
  for (;;) {
    const row = await ownRow(store, host)
    if (row.state === 'gone' && !hasLeft(row))
      throw new Error(
        `the fleet has forgotten this host (${host.hostId}): its runtimes were given up. Empty its state directory to join as a new host`,
      )
    if (row.state === 'lost') while (await carryOut({ store, now: host.now }, row));
    const lease = new HostLease({ ...host, epoch: row.epoch + 1 })
    const sentAt = lease.now()
    if (!(await begin(store, host, row))) continue // A verdict or another process was quicker.
    lease.renew(sentAt)
    return lease
  }
}

/** Returns the row of this host, and inserts it if there is none. The first host gets every row. */
async function ownRow(store: Store, host: StartingHost): Promise<HostRow> {
  const find = () => store.db.selectFrom('hosts').selectAll().where('host_id', '=', host.hostId).executeTakeFirst()
  const known = await find()
  if (known !== undefined) return known
  await store.change(aloneWithService, async (changes) => {
    const others = await changes.selectFrom('hosts').select('host_id').limit(1).execute()
    if (others.length === 0) await makeFirstHost(changes, host)
    else {
      const inserted = await changes
        .insertInto('hosts')
        .values({ ...newHostRow(host), state: 'joining' })
        .onConflict((conflict) => conflict.column('host_id').doNothing())
        .returning('host_id')
        .executeTakeFirst()
      if (inserted === undefined) return
    }
    await recordHostJoined(changes, host, { trust: 'entry' })
  })
  const made = await find()
  if (made === undefined) throw new Error(`the row of the host ${host.hostId} was removed while it started`)
  return made
}

async function begin(
  store: Store,
  { hostId, version, keyIds, address, now }: StartingHost,
  before: HostRow,
): Promise<boolean> {
  const epoch = before.epoch + 1
  return store.change(aloneWithService, async (changes) => {
    const begun = await changes
      .updateTable('hosts')
      .set({
        ...{
          epoch,
          beat: 0,
          state: 'joining',

          version,
          key_ids: keyIds.join(','),
          address,
          seen_at: now(),
        },
        ...{ protocol_min: hostProtocol.min, protocol_max: hostProtocol.max },
      })
      .where('host_id', '=', hostId)
      .where('epoch', '=', before.epoch)
      .where('state', '=', before.state)
      .returning('host_id')
      .executeTakeFirst()
    if (begun === undefined) return false
    for (const table of ownedTables)
      await changes.updateTable(table).set({ host_epoch: epoch }).where('host_id', '=', hostId).execute()
    // The disk is back, and the checkpoints of its paused runtimes with it.
    await changes
      .updateTable('runtimes')
      .set(({ eb }) => ({ state_reason_json: null, revision: eb('revision', '+', 1) }))
      .where('host_id', '=', hostId)
      .where('state', '=', 'paused')
      .where('state_reason_json', 'like', `{"code":"${hostLostCode}"%`)
      .execute()
    const reason = { code: 'started', message: 'Its service started.' }
    await recordHostState(changes, { hostId, at: now() }, { from: before.state, to: 'joining', reason })
    return true
  })
}
