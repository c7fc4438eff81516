import type { PeerAddress } from '../foundation/config/peer-settings.ts'
import type { HostDirectory } from '../foundation/host/host-directory.ts'
import type { Store } from '../foundation/store/open-store.ts'
import type { Inside } from '../inside/inside.ts'
import { StoreSource } from './artifacts/store-source.ts'
import { buildVerbs, cancelElsewhere } from './builds/build-verbs.ts'
import { applyElsewhere } from './changes/apply-elsewhere.ts'
import { applyVerb } from './changes/apply-here.ts'
import { type FleetParts, type OpenPeers, openPeers } from './forwarding/open-peers.ts'
import type { RowOwners } from './forwarding/row-owners.ts'
import { askRunnerBy, runningVerb } from './forwarding/running-requests.ts'
import { nodeVerb } from './kubernetes/node-verb.ts'
import type { GuardedClients } from './lease/guarded-clients.ts'
import type { HostLease } from './lease/host-lease.ts'
import { childrenElsewhere, childVerbs } from './moves/child-verbs.ts'
import { moveVerbs } from './moves/move-verbs.ts'
import { takeFor } from './moves/take-for.ts'
import type { PeerDirectory } from './peers/peer-directory.ts'
import { Unreachable } from './peers/peer-links.ts'
import type { PeerVerbs } from './peers/peer-verbs.ts'
import type { StoredArtifacts } from './stored-artifacts/stored-artifacts.ts'
import { RelayedQuestions } from './trust/relayed-questions.ts'
import { trustVerbs } from './trust/trust-verbs.ts'
import { WorkerErrands } from './trust/worker-errands.ts'
import { WorkerGrants } from './trust/worker-grants.ts'
import { makeWorkerRole } from './trust/worker-role.ts'
import type { WorkerSide } from './trust/worker-side.ts'
import { usageElsewhere, usageVerbs } from './usage/usage-verb.ts'

/** The parts of a host that are connected with the others. */
interface ConnectionParts {
  readonly store: Store
  readonly now: () => number
  readonly lease: HostLease
  readonly hosts: Pick<HostDirectory, 'rows'>
  readonly directory: PeerDirectory
  readonly owners: RowOwners
  readonly address: PeerAddress
  readonly clients: GuardedClients
  /** Returns the ids of the other hosts that answer. */
  readonly others: () => readonly string[]
  /** The connections of a worker. Null: this host has keys. */
  readonly side: WorkerSide | null
}

/** The way to ask other hosts. Null: the connections are not open yet. */
type Asker = Pick<OpenPeers, 'ask'> | null

/**
 * The connections of a host with the others, and what it does for them. The districts that ask
 * other hosts are told when the connections open.
 */
export class HostConnections {
  readonly #parts: ConnectionParts
  readonly #errands: WorkerErrands
  readonly #grants: WorkerGrants
  readonly #relayed: RelayedQuestions | null
  #peers: OpenPeers | null = null

  constructor(parts: ConnectionParts) {
    const { store, now, hosts, side } = parts
    const permits = { store, now, isWorker: isWorkerAmong(hosts) }
    this.#parts = parts
    this.#errands = new WorkerErrands(permits)
    this.#grants = new WorkerGrants(permits)
    this.#relayed = side === null ? null : new RelayedQuestions(side.fronts)
  }

  /** The open connections; null before. */
  get peers(): OpenPeers | null {
    return this.#peers
  }

  /**
   * The way to ask other hosts about things of this one. A worker asks no other worker: a front
   * passes the question on, if its subject is this host's.
   */
  get asker(): Asker {
    return this.#relayed ?? this.#peers
  }

  /** Opens the connections. `stored` is the object store; null: there is none. */
  async open(service: Inside, places: 'fleet' | 'own', stored: StoredArtifacts | null): Promise<OpenPeers> {
    const { lease, directory, owners, address, clients, others } = this.#parts
    const peers = await openPeers(service, {
      own: lease,
      ...{ directory, owners, address, places, others },
      verbs: this.#verbs(service),
      take: (owned) => takeFor(service, owned),
      guard: (connection) => clients.add(connection, lease),
      artifactStore: stored === null ? null : new StoreSource(stored),
      joins: joinsOf(service),
      ...this.#trust(),
    })
    this.#peers = peers
    const asker = () => this.asker
    service.forkHosts.makeChild = childrenElsewhere(service, asker)
    service.usage.elsewhere = usageElsewhere(service, () => peers)
    service.builds.otherHosts.readContext = peers.readContext
    service.builds.otherHosts.cancel = cancelElsewhere(service, () => peers)
    service.records.askRunner = askRunnerBy(asker)
    service.changesElsewhere.tell = applyElsewhere(service, () => peers)
    return peers
  }

  /** Returns what this host does for others. */
  #verbs(service: Inside): NonNullable<FleetParts['verbs']> {
    const ask: OpenPeers['ask'] = async (...asked) => {
      if (this.#peers === null) throw new Unreachable('this host opens its connections')
      return this.#peers.ask(...asked)
    }
    return {
      ...moveVerbs(service),
      ...childVerbs(service),
      ...buildVerbs(service),
      ...usageVerbs(service),
      ...applyVerb(service),
      ...runningVerb(service.records),
      ...trustVerbs(service, { errands: this.#errands, grants: this.#grants, ask }),
      ...nodeVerbs(service),
    }
  }

  /** Returns what a front notes of requests that it sends to workers, and a worker of fronts. */
  #trust(): Pick<FleetParts, 'noteErrand' | 'noteCreate' | 'noteSender' | 'serves' | 'identity'> {
    const { side } = this.#parts
    return {
      identity: side?.identity ?? null,
      noteErrand: async ({ hostId, isChosen }, { projectId, id }) => {
        await this.#errands.permit(hostId, projectId)
        if (isChosen === true) await this.#errands.offer(hostId, id)
      },
      noteCreate: (hostId, projectId, create) => this.#grants.noteCreate(hostId, projectId, create),
      noteSender: (projectId, hostId) => side?.fronts.noteSender(projectId, hostId),
      // The role of a worker does not read whom others serve.
      ...(side === null ? { serves: (hostId, projectId) => this.#errands.has(hostId, projectId) } : {}),
    }
  }
}

/** Returns the parts with which workers join at this host. None join at a worker. */
function joinsOf({ config, store }: Inside): NonNullable<FleetParts['joins']> | null {
  const { databaseUrl, fleet } = config
  return databaseUrl === null || fleet?.role === 'worker'
    ? null
    : { databaseUrl, makeRole: (hostId, admit) => makeWorkerRole(store, hostId, admit) }
}

/** Returns the verb by which workers show their Nodes. A host with keys in a cluster has it. */
function nodeVerbs({ config, store, log }: Inside): PeerVerbs {
  if (config.kubernetes === null || config.fleet?.role === 'worker') return {}
  const api = async () => {
    // Loaded here: a host that is in no pod loads nothing of it.
    const { accessOf, KubernetesApi } = await import('./kubernetes/kubernetes-api.ts')
    return new KubernetesApi(accessOf(process.env))
  }
  return nodeVerb({ store, log, api })
}

/** Returns the function that knows workers. A host without a row has just joined, or is gone. */
function isWorkerAmong(hosts: Pick<HostDirectory, 'rows'>): (hostId: string) => boolean {
  return (hostId) => hosts.rows.some(({ host_id, trust }) => host_id === hostId && trust === 'worker')
}
