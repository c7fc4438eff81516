import { makeRuntimeCa } from '@holt/egress'
import { failpoint } from '@holt/failpoints'
import type { WantedPolicy } from '@holt/protocol'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import { within } from '../../foundation/wire/call.ts'
import { requireMatch } from '../../foundation/wire/if-match.ts'
import { type ChosenPolicy, choosePolicy, newNetworkRow, prepareCaKey } from '../../resources/network/decide-network.ts'
import { currentPolicy, networkEtag, networkRow } from '../../resources/network/find-network.ts'
import { noDevice, noteGuest } from '../../resources/network/note-guest.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import { findAwake } from '../lifecycle/wake.ts'
import { openGuest } from '../links/open-guest.ts'
import type { Runtimes } from '../runtimes.ts'

/** The time for the guest to create or remove its device, in milliseconds. */
const guestTimeoutMs = 30_000

/** The requested network of a runtime, and the requester. */
export interface NetworkChange {
  readonly wanted: WantedPolicy
  /** The etag that the present policy must have, or `*`. Absent: there is no condition. */
  readonly ifMatch?: string | undefined
  /** The key of the request. */
  readonly by: string
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal
}

/**
 * Replaces the network of a running runtime. The change is made in the database, then in the
 * gateway, which enforces it. Last, the guest gets or loses its device if necessary. A repeated
 * change completes an interrupted one.
 */
export async function setRuntimeNetwork(service: Runtimes, ref: RuntimeRef, change: NetworkChange): Promise<void> {
  await findAwake(service, ref, change.gone)
  const { wanted, ifMatch, by } = change
  const policy = wanted === null ? null : await choosePolicy(service.store.db, ref.projectId, wanted)
  await service.networks.alone(ref, async () => {
    try {
      await storeChange(service, { ref, policy, ifMatch, by })
      await failpoint('network.stored')
    } finally {
      // A change that returned an error may still have been made. The database decides.
      await service.networks.sync(ref)
    }
    await failpoint('network.synced')
    await tellGuest(service, ref, change)
    await failpoint('network.told')
  })
}

async function storeChange(
  service: Runtimes,
  {
    ref,
    policy,
    ifMatch,
    by,
  }: Pick<NetworkChange, 'ifMatch' | 'by'> & { ref: RuntimeRef; policy: ChosenPolicy | null },
): Promise<void> {
  const { projectId, runtimeId } = ref
  const { store } = service
  const at = service.now()
  const isNew = (await networkRow(store.db, ref)) === undefined
  const ca = isNew && policy !== null ? await makeRuntimeCa(`Holt ${projectId}`) : null
  const storeCaKey = ca === null ? null : await prepareCaKey(service, ref, ca)
  await store.change(aloneWith(projectId), async (changes) => {
    const present = await currentPolicy(changes, await networkRow(changes, ref))
    requireMatch(ifMatch, { etag: networkEtag(present), what: 'The network of the runtime' })
    // A policy that was deleted meanwhile is not found.
    if (policy?.policyId != null) await choosePolicy(changes, projectId, policy.policyId)
    if (policy !== null && ca !== null) {
      await changes.insertInto('runtime_networks').values(newNetworkRow(ref, { policy, ca, at })).execute()
      await storeCaKey?.(changes)
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

/** Creates or removes the guest's device if its state is not the desired one. */
async function tellGuest(service: Runtimes, ref: RuntimeRef, call: Pick<NetworkChange, 'gone'>): Promise<void> {
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
