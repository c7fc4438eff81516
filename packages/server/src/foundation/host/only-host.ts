import { aloneWithService } from '../store/alone.ts'
import type { Store } from '../store/open-store.ts'
import { makeFirstHost, type NewHost } from './host-row.ts'
import type { ThisHost } from './this-host.ts'

/**
 * Returns the host of a machine that is in no fleet. Every row is its own. Writes only where the
 * store has no row of this host yet: after an upgrade, after an import, or with another state
 * directory. Throws if the store is that of a fleet.
 */
export async function openOnlyHost(store: Store, { hostId, ...more }: NewHost): Promise<ThisHost> {
  const rows = await store.db.selectFrom('hosts').select(['host_id', 'epoch', 'state', 'protocol_max']).execute()
  const others = rows.filter((row) => row.host_id !== hostId && row.state !== 'gone')
  const inFleet = others.find((row) => row.protocol_max > 0)
  if (inFleet !== undefined)
    throw new Error(
      `the store belongs to a fleet: it has the host ${inFleet.host_id}. Set HOLT_FLEET=1, or forget its other hosts (holt host forget)`,
    )
  const own = rows.find((row) => row.host_id === hostId)
  if (own !== undefined && others.length === 0) return { hostId, epoch: own.epoch, fenced: false }
  await store.change(aloneWithService, (changes) => makeFirstHost(changes, { hostId, ...more }))
  return { hostId, epoch: 1, fenced: false }
}

/** Returns the id of the only host of a store; null if it has none, or several. */
export async function onlyHostId({ db }: Store): Promise<string | null> {
  const [one, ...others] = await db.selectFrom('hosts').select('host_id').limit(2).execute()
  return one === undefined || others.length > 0 ? null : one.host_id
}
