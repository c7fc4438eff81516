import type { Server } from 'node:http'
import { HoltError } from '@holt/protocol'
import { referenced } from '../builds/collect.ts'
import { inTime } from '../foundation/async/in-time.ts'
import type { FleetConfig } from '../foundation/config/fleet-settings.ts'
import type { KubernetesConfig } from '../foundation/config/kubernetes-settings.ts'
import type { PeerAddress } from '../foundation/config/peer-settings.ts'
import { version } from '../foundation/config/version.ts'
import type { Foundation } from '../foundation/foundation.ts'
import { type Duties, type DutyName, dutyNames } from '../foundation/host/duties.ts'
import type { HostCondition } from '../foundation/host/host-condition.ts'
import type { HostDirectory } from '../foundation/host/host-directory.ts'
import type { ThisHost } from '../foundation/host/this-host.ts'
import type { Log } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics/metrics.ts'
import type { MasterKeys } from '../foundation/sealing/master-keys.ts'
import type { Store } from '../foundation/store/open-store.ts'
import { storeIdOf } from '../foundation/store/store-id.ts'
import type { HostClock } from '../foundation/time/host-clock.ts'
import type { Inside } from '../inside/inside.ts'
import type { EgressGateway } from '../resources/network/runtime-networks.ts'
import { markLost } from '../runtimes/reconcile/mark-lost.ts'
import type { EventNotifier } from '../tenancy/events/event-notifier.ts'
import { type ArtifactObjects, FleetArtifacts } from './artifact-rows/fleet-artifacts.ts'
import { ObjectCollector } from './artifact-rows/object-collector.ts'
import { storeExisting } from './artifact-rows/store-existing.ts'
import { QueuedBuilds } from './builds/queued-builds.ts'
import { KeptDuties } from './duties/kept-duties.ts'
import { notifyOfOthers } from './events/notify-of-others.ts'
import type { OpenPeers } from './forwarding/open-peers.ts'
import { RowOwners } from './forwarding/row-owners.ts'
import { HostConnections } from './host-connections.ts'
import { Beats } from './hosts/beats.ts'
import { HostPeers } from './hosts/host-peers.ts'
import { OwnCondition } from './hosts/own-condition.ts'
import { SeenHosts } from './hosts/seen-hosts.ts'
import { startHost } from './hosts/start-host.ts'
import { FencedGateway } from './lease/fenced-gateway.ts'
import { GuardedClients } from './lease/guarded-clients.ts'
import { refuseWhileFenced } from './lease/refuse-while-fenced.ts'
import { SharedKeys } from './master-keys/shared-keys.ts'
import { FleetMetrics } from './metrics/fleet-metrics.ts'
import { keepMoves } from './moves/keep-moves.ts'
import { resumeElsewhere } from './moves/move-verbs.ts'
import { joinAddress } from './peers/peer-directory.ts'
import { sharedPortSecret } from './peers/shared-port-secret.ts'
import { openStoredArtifacts } from './stored-artifacts/open-stored-artifacts.ts'
import type { StoredArtifacts } from './stored-artifacts/stored-artifacts.ts'
import { type AskedOfFronts, askedOfFronts } from './trust/asked-of-fronts.ts'
import type { WorkerIdentity } from './trust/worker-identity.ts'
import { renewWorkerRights } from './trust/worker-role.ts'
import { openWorkerSide } from './trust/worker-side.ts'

/** The time for a host that stops to say so, in milliseconds. */
const leaveMs = 1_000

/** The beats between two looks at the master keys. */
const beatsPerLook = 2

/** The parts of a host that joins a fleet. */
export interface FleetOptions {
  readonly store: Store
  readonly times: FleetConfig
  /** True if this host has access to the API server of a cluster of Kubernetes. */
  readonly isInCluster: boolean
  readonly hostId: string
  /** The address of its listener for other hosts. */
  readonly address: PeerAddress
  /** The keys that seal. Null: this host is a worker. */
  readonly masterKeys: MasterKeys | null
  /** The identity of a worker. Null: this host has the master keys, and signs its certificate. */
  readonly worker: WorkerIdentity | null
  readonly now: () => number
  readonly monotonic: () => number
  readonly hostClock: HostClock
  readonly metrics: Metrics
  readonly log: Log
  /** Aborted when the service closes. */
  readonly closing: AbortSignal
  /** Called when the epoch of this host is over. The process has to end. */
  readonly onOver: (error: Error) => void
}

/** The facts of a host that serves requests. */
interface ReadyFacts {
  /** Returns the facts that other hosts tell about this one. */
  readonly describe: () => Promise<object>
  /** The class of the checkpoints that it restores; null: none. */
  readonly classId: string | null
}

/** This host in its fleet. */
export interface Fleet {
  readonly thisHost: ThisHost
  readonly hosts: HostDirectory
  readonly duties: Duties
  readonly condition: HostCondition
  /** The parts of a worker that ask fronts. Null: this host has the keys itself. */
  readonly asked: AskedOfFronts | null
  /** Notes that the changes of other hosts were read. */
  noteRead(): void
  /** Settles when no more beats are sent, after the service closes. */
  readonly ended: Promise<void>
  /** Returns the store that everything but the fleet itself uses. */
  guardStore(): Store
  /** Returns the gateway through which nothing leaves while the host is fenced. */
  guardGateway(gateway: EgressGateway): EgressGateway
  /** Guards the connections of clients. Called before the server listens. */
  guardClients(server: Server): void
  /** Returns the secret for tokens of ports. `own` is that of this host, before it has joined. */
  sharePortSecret(own: Buffer): Promise<Buffer>
  /** Seals all values with the newest master key. Throws with what has to be done first. */
  rotateMasterKey(): Promise<number>
  /** Notifies readers of events of other hosts, until the service closes. Never rejects. */
  notifyOfOthers(notifier: EventNotifier): Promise<void>
  /** Gives paused runtimes of this host to the fleet, until the service closes. Never rejects. */
  keepMoves(service: Inside): Promise<void>
  /**
   * Says that this host stops in order, so that the others place nothing on it. Never rejects, and
   * waits for a second at most.
   */
  leave(): Promise<void>
  /**
   * Opens the artifacts of this host, before its connections. `given` replaces the object store.
   * Null: the fleet has none.
   */
  openArtifacts(foundation: Foundation, given: ArtifactObjects | null): Promise<FleetArtifacts | null>
  /**
   * Stores what this host has, and removes what no row needs from the object store while it has the
   * duty. Never rejects.
   */
  cleanObjects(service: Inside): Promise<void>
  /** Opens the connections with the other hosts. `places` is as in `FleetParts`. */
  openPeers(service: Inside, places: 'fleet' | 'own'): Promise<OpenPeers>
  /**
   * Says that the host has compared its engine with its rows, and serves requests. `peerPort` is
   * that of its listener for other hosts.
   */
  becomeReady(peerPort: number, host: ReadyFacts): Promise<void>
  /** Follows the Nodes of hosts in Kubernetes, until the service closes. Never rejects. */
  followCluster(settings: KubernetesConfig): Promise<void>
}

/** Begins the next epoch of this host, and sends its beats from then on. */
export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const { store, times, hostId, address, masterKeys, now, monotonic, hostClock, log, closing, onOver } = options
  const { worker } = options
  const { bootId, uptime } = hostClock
  const clocks = { monotonic, uptime }
  const start = { hostId, bootId, version, at: now(), address: joinAddress(address) }
  if (masterKeys !== null)
    await renewWorkerRights(store).catch((err: unknown) =>
      // A table of a newer version stays closed to workers. The next start tries again.
      log.error({ err }, 'the roles of workers could not be given the rights of this version'),
    )
  const lease = await startHost(store, { ...start, fenceMs: times.fenceMs, clocks, keyIds: masterKeys?.ids ?? [], now })
  const hosts = new SeenHosts({ store, uptime, times })
  const duties = new KeptDuties({ store, host: lease, uptime, dutyMs: times.dutyMs, names: dutiesOf(options) })
  const condition = new OwnCondition({ log, closing })
  const keys = masterKeys === null ? null : new SharedKeys({ store, masterKeys, thisHost: lease, duties, log })
  await keys?.look()
  const metrics = new FleetMetrics(options.metrics.registry, { lease, hosts, duties, condition })
  const beats = new Beats({ store, lease, hosts, duties, condition, metrics, times, log, now, onOver })
  const gateways: FencedGateway[] = []
  const clients = new GuardedClients()
  const owners = new RowOwners(store, hosts, hostId)
  const directory = new HostPeers(store, hosts)
  const others = () => hosts.answering().filter((id) => id !== hostId)
  const side = worker === null ? null : await openWorkerSide(worker, { hosts, directory, others, log })
  if (side !== null) await hosts.read()
  const connections = new HostConnections({
    ...{ store, now, lease, hosts, directory, owners, address, clients, others, side },
  })
  let stored: StoredArtifacts | null = null
  let objects: ArtifactObjects | null = null
  let artifacts: FleetArtifacts | null = null
  const ended = Promise.all([beats.keep(closing), keys?.keep({ lookMs: beatsPerLook * times.beatMs, closing })]).then(
    () => {},
  )
  lease.onFence(() => {
    for (const gateway of gateways) gateway.resetConnections()
    clients.reset()
    log.error({ host_id: hostId, epoch: lease.epoch }, 'this host is fenced: it has not reached the fleet for too long')
  })
  return {
    thisHost: lease,
    hosts,
    duties,
    condition,
    asked: side === null ? null : askedOfFronts(side.fronts),
    noteRead: () => condition.noteRead(),
    ended,
    guardStore: () => refuseWhileFenced(store, lease),
    guardGateway: (gateway) => {
      const fenced = new FencedGateway(gateway, lease)
      gateways.push(fenced)
      return fenced
    },
    guardClients: (server) => clients.guard(server, lease),
    sharePortSecret: async (own) => (masterKeys === null ? own : sharedPortSecret(store, masterKeys, own)),
    rotateMasterKey: async () => {
      if (keys === null) throw new HoltError('conflict', 'A worker has no master keys.')
      return keys.rotate()
    },
    notifyOfOthers: (notifier) => notifyOfOthers({ store, notifier, log }, closing),
    openArtifacts: async (foundation, given) => {
      const { objectStore } = foundation.config
      if (objectStore !== null) stored = (await openStoredArtifacts(objectStore, process.env)).artifacts
      objects = given ?? stored
      if (objects === null) return null
      artifacts = new FleetArtifacts({ ...foundation, objects })
      return artifacts
    },
    cleanObjects: async (service) => {
      if (objects === null) return
      const existing = artifacts === null ? null : storeExisting({ ...service, artifacts })
      await Promise.all([keepCollecting(service, objects), existing])
    },
    keepMoves: (service) =>
      keepMoves(service, {
        beatMs: times.beatMs,
        resumeElsewhere: resumeElsewhere(service, { owners, peers: () => connections.asker }),
        builds: new QueuedBuilds(service, () => connections.peers),
      }),
    leave: async () => {
      await inTime(ended, leaveMs)
    },
    openPeers: async (service, places) => {
      const peers = await connections.open(service, places, stored)
      artifacts?.fetchWith(peers.fetcher)
      return peers
    },
    becomeReady: async (peerPort, { describe, classId }) => {
      await store.db
        .updateTable('hosts')
        .set({ class_id: classId })
        .where('host_id', '=', hostId)
        .where('epoch', '=', lease.epoch)
        .execute()
      beats.becomeReady({ address: joinAddress({ ...address, port: peerPort }), describe })
      await beats.once().catch((err: unknown) => log.warn({ err }, 'a beat of this host failed'))
    },
    followCluster: async (settings) => {
      // Loaded here: a host that is in no pod loads nothing of it.
      if (side !== null) {
        const { showNode } = await import('./kubernetes/show-node.ts')
        return showNode({ fronts: side.fronts, log }, closing)
      }
      const { followCluster } = await import('./kubernetes/follow-cluster.ts')
      const { accessOf, KubernetesApi } = await import('./kubernetes/kubernetes-api.ts')
      const api = new KubernetesApi(accessOf(process.env))
      await followCluster({ api, settings, role: times.role, store, now, hosts, duties, hostId, log }, closing)
    },
  }
}

/** Removes what no row needs from the object store while this host has the duty. Never rejects. */
async function keepCollecting(service: Inside, objects: ArtifactObjects): Promise<void> {
  const { store, duties, now, log, closing } = service
  const collector = new ObjectCollector({
    ...{ store, objects, now, log },
    storeId: () => storeIdOf(store.db),
    referenced: (db) => referenced(db, { isShared: true }),
    markLost: (ids) => markLost(service, ids),
  })
  await collector.keep({ duties, closing })
}

/**
 * Returns the duties that a host can do. A front cannot run the builds of base templates. A worker
 * does nothing else: it judges nobody, and it has no keys. A host outside of a cluster follows no
 * Nodes.
 */
function dutiesOf({ times: { role }, isInCluster }: Pick<FleetOptions, 'times' | 'isInCluster'>): readonly DutyName[] {
  if (role === 'worker') return ['base_templates']
  const left: readonly DutyName[] = [
    ...(role === 'front' ? (['base_templates'] as const) : []),
    ...(isInCluster ? [] : (['nodes'] as const)),
  ]
  return dutyNames.filter((name) => !left.includes(name))
}
