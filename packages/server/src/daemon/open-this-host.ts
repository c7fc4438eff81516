import type { Fleet } from '../fleet/open-fleet.ts'
import type { WorkerIdentity } from '../fleet/trust/worker-identity.ts'
import { version } from '../foundation/config/version.ts'
import type { Foundation } from '../foundation/foundation.ts'
import { allDuties } from '../foundation/host/duties.ts'
import { noFleetCondition } from '../foundation/host/host-condition.ts'
import { noOtherHosts } from '../foundation/host/host-directory.ts'
import { onlyHostId, openOnlyHost } from '../foundation/host/only-host.ts'
import { type OwnHost, uncheckedHost } from '../foundation/host/own-host.ts'
import { endProcess } from '../foundation/store/end-process.ts'
import type { Store } from '../foundation/store/open-store.ts'

/** The parts of this host. */
interface HostParts extends Pick<Foundation, 'config' | 'log' | 'now' | 'monotonic' | 'hostClock' | 'metrics'> {
  readonly masterKeys: Foundation['masterKeys']
  readonly worker?: WorkerIdentity
  readonly closing: AbortSignal
  readonly host?: OwnHost
  readonly onOver?: (error: Error) => void
}

/** This host: what the foundation has of it, and its fleet. */
interface OpenHost extends Pick<Foundation, 'host' | 'thisHost' | 'hosts' | 'duties' | 'condition'> {
  readonly fleet: Fleet | null
  /** The store for everything but the fleet itself. */
  readonly guarded: Store
}

/**
 * Returns this host: the only one of its store, or one of a fleet. Nothing of the fleet is loaded
 * for the only one.
 */
export async function openThisHost(store: Store, parts: HostParts): Promise<OpenHost> {
  const { config, log, now, monotonic, hostClock, metrics, closing, onOver = endProcess } = parts
  const { masterKeys, worker = null } = parts
  const host = parts.host ?? uncheckedHost((await onlyHostId(store)) ?? undefined)
  const { hostId } = host
  if (config.fleet === null) {
    const thisHost = await openOnlyHost(store, { hostId, bootId: hostClock.bootId, version, at: now() })
    const only = { hosts: noOtherHosts, duties: allDuties, condition: noFleetCondition }
    return { host, thisHost, ...only, fleet: null, guarded: store }
  }
  const { openFleet } = await import('../fleet/open-fleet.ts')
  if (config.peerAddress === null) throw new Error('a host of a fleet needs HOLT_PEER_ADDRESS')
  const own = { hostId, address: config.peerAddress, masterKeys }
  const clocks = { now, monotonic, hostClock }
  const fleet = await openFleet({
    ...{ store, times: config.fleet, isInCluster: config.kubernetes !== null, worker, metrics, log, closing, onOver },
    ...{ ...own, ...clocks },
  })
  const { thisHost, hosts, duties, condition } = fleet
  return { host, thisHost, hosts, duties, condition, fleet, guarded: fleet.guardStore() }
}
