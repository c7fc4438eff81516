import { makeRuntimeCa } from '@holt/egress'
import { failpoint } from '@holt/engine'
import type { WantedPolicy } from '@holt/protocol'
import { recordEvent } from '../events/record-event.ts'
import { within } from '../http/call.ts'
import { findAwake } from '../lifecycle/wake.ts'
import type { RuntimeRef } from '../runtimes/find-runtime.ts'
import { openGuest } from '../runtimes/open-guest.ts'
import type { Service } from '../service.ts'
import { type ChosenPolicy, choosePolicy, newNetworkRow, putCaKey } from './decide-network.ts'
import { networkRow } from './find-network.ts'
import { noDevice, noteGuest } from './note-guest.ts'

/** Time for the guest to make or take away its device. */
const guestTimeoutMs = 30_000

/** What is wanted of a runtime's network, and by whom. */
export interface NetworkChange {
  readonly wanted: WantedPolicy
  /** The key that asks. */
  readonly by: string
  /** Ends when nobody waits any more. */
  readonly gone: AbortSignal
}

/**
 * Replaces what a running runtime may reach: in the database, then in the gateway, where it is in
 * force, and then, where it gets or loses its device, in the guest. Repeating a change that broke
 * off half-way finishes it.
 */
export async function setRuntimeNetwork(service: Service, ref: RuntimeRef, change: NetworkChange): Promise<void> {
  await findAwake(service, ref, change.gone)
  const { wanted } = change
  const policy = wanted === null ? null : await choosePolicy(service.store.db, ref.projectId, wanted)
  await service.networks.alone(ref, async () => {
    try {
      await storeChange(service, { ref, policy, by: change.by })
      await failpoint('network.stored')
    } finally {
      // A change whose error was seen may have been made: the database has the last word.
      await service.networks.sync(ref)
    }
    await failpoint('network.synced')
    await tellGuest(service, ref, change)
    await failpoint('network.told')
  })
}

async function storeChange(
  service: Service,
  { ref, policy, by }: { ref: RuntimeRef; policy: ChosenPolicy | null; by: string },
): Promise<void> {
  const { projectId, runtimeId } = ref
  const { store } = service
  const at = service.now()
  const isNew = (await networkRow(store.db, ref)) === undefined
  const ca = isNew && policy !== null ? await makeRuntimeCa(`Holt ${projectId}`) : null
  await store.change(async (changes) => {
    // Deleted since it was found: as one that was never there.
    if (policy?.policyId != null) await choosePolicy(changes, projectId, policy.policyId)
    if (policy !== null && ca !== null) {
      await changes.insertInto('runtime_networks').values(newNetworkRow(ref, { policy, ca, at })).execute()
      await putCaKey(service, changes, { ref, ca })
    } else {
      await changes
        .updateTable('runtime_networks')
        .set({ policy_id: policy?.policyId ?? null, inline_json: policy?.inlineJson ?? null, updated_at: at })
        .where('project_id', '=', projectId)
        .where('runtime_id', '=', runtimeId)
        .execute()
    }
    await recordEvent(changes, {
      projectId,
      type: 'runtime.network_changed',
      subjectId: runtimeId,
      data: { by, policy_id: policy?.policyId ?? null, inline: policy?.inlineJson != null },
      at,
    })
  })
}

/** Gives the guest its device or takes it away, where it has not what it should have. */
async function tellGuest(service: Service, ref: RuntimeRef, call: Pick<NetworkChange, 'gone'>): Promise<void> {
  const row = await networkRow(service.store.db, ref)
  if (row === undefined) return
  const wanted = row.policy_id !== null || row.inline_json !== null
  if (wanted === (row.guest_has_it === 1)) return
  const signal = within(call, guestTimeoutMs)
  const { guest } = await openGuest(service, ref, { gone: signal })
  const network = wanted ? await service.networks.guestNetwork(ref, signal) : null
  const set = await guest.setNetwork(network, signal)
  if (set.network !== wanted) {
    service.log.warn({ runtime_id: ref.runtimeId, problems: set.problems }, 'a guest could not change its network')
    throw noDevice()
  }
  await noteGuest(service, ref, wanted)
}
