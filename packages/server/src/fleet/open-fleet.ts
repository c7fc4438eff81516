import type { Server } from 'node:http'
import type { FleetConfig } from '../foundation/config/fleet-settings.ts'
import { version } from '../foundation/config/version.ts'
import type { Duties } from '../foundation/host/duties.ts'
import type { HostDirectory } from '../foundation/host/host-directory.ts'
import type { ThisHost } from '../foundation/host/this-host.ts'
import type { Log } from '../foundation/log.ts'
import type { Store } from '../foundation/store/open-store.ts'
import type { HostClock } from '../foundation/time/host-clock.ts'
import type { EgressGateway } from '../resources/network/runtime-networks.ts'
import { KeptDuties } from './duties/kept-duties.ts'
import { Beats } from './hosts/beats.ts'
import { SeenHosts } from './hosts/seen-hosts.ts'
import { startHost } from './hosts/start-host.ts'
import { FencedGateway } from './lease/fenced-gateway.ts'
import { GuardedClients } from './lease/guarded-clients.ts'
import { refuseWhileFenced } from './lease/refuse-while-fenced.ts'

/** The parts of a host that joins a fleet. */
export interface FleetOptions {
  readonly store: Store
  readonly times: FleetConfig
  readonly hostId: string
  /** The ids of its master keys. */
  readonly keyIds: readonly string[]
  readonly now: () => number
  readonly monotonic: () => number
  readonly hostClock: HostClock
  readonly log: Log
  /** Aborted when the service closes. */
  readonly closing: AbortSignal
  /** Called when the epoch of this host is over. The process has to end. */
  readonly onOver: (error: Error) => void
}

/** This host in its fleet. */
export interface Fleet {
  readonly thisHost: ThisHost
  readonly hosts: HostDirectory
  readonly duties: Duties
  /** Settles when no more beats are sent, after the service closes. */
  readonly ended: Promise<void>
  /** Returns the store that everything but the fleet itself uses. */
  guardStore(): Store
  /** Returns the gateway through which nothing leaves while the host is fenced. */
  guardGateway(gateway: EgressGateway): EgressGateway
  /** Guards the connections of clients. Called before the server listens. */
  guardClients(server: Server): void
  /**
   * Says that the host has compared its engine with its rows, and serves requests. `describe`
   * returns what other hosts tell of it.
   */
  becomeReady(describe: () => Promise<object>): Promise<void>
}

/** Begins the next epoch of this host, and sends its beats from then on. */
export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const { store, times, hostId, keyIds, now, monotonic, hostClock, log, closing, onOver } = options
  const { bootId, uptime } = hostClock
  const clocks = { monotonic, uptime }
  const { fenceMs, dutyMs } = times
  const lease = await startHost(store, { hostId, bootId, version, at: now(), fenceMs, clocks, keyIds, now })
  const hosts = new SeenHosts({ store, uptime, times })
  const duties = new KeptDuties({ store, host: lease, uptime, dutyMs })
  const beats = new Beats({ store, lease, hosts, duties, times, log, now, onOver })
  const gateways: FencedGateway[] = []
  const clients = new GuardedClients()
  lease.onFence(() => {
    for (const gateway of gateways) gateway.resetConnections()
    clients.reset()
    log.error({ host_id: hostId, epoch: lease.epoch }, 'this host is fenced: it has not reached the fleet for too long')
  })
  return {
    thisHost: lease,
    hosts,
    duties,
    ended: beats.keep(closing),
    guardStore: () => refuseWhileFenced(store, lease),
    guardGateway: (gateway) => {
      const fenced = new FencedGateway(gateway, lease)
      gateways.push(fenced)
      return fenced
    },
    guardClients: (server) => clients.guard(server, lease),
    becomeReady: async (describe) => {
      beats.becomeReady(describe)
      await beats.once().catch((err: unknown) => log.warn({ err }, 'a beat of this host failed'))
    },
  }
}
