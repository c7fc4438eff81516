import type { Duplex } from 'node:stream'
import type { CertifiedKey } from '@holt/egress'
import type { PeerAddress } from '../../foundation/config/peer-settings.ts'
import type { Log } from '../../foundation/log.ts'
import type { FleetWire, Owned } from '../../foundation/wire/forwarder.ts'
import type { Inside } from '../../inside/inside.ts'
import { ArtifactFetcher } from '../artifacts/artifact-fetcher.ts'
import type { ArtifactSource } from '../artifacts/artifact-source.ts'
import { isForContext, readContext, serveContext } from '../artifacts/context-wire.ts'
import { FetchMetrics } from '../artifacts/fetch-metrics.ts'
import { mayReadContext } from '../artifacts/may-read-context.ts'
import { PeerSource } from '../artifacts/peer-source.ts'
import { rankPeers } from '../artifacts/rank-peers.ts'
import { ArtifactServer } from '../artifacts/serve-artifacts.ts'
import { HostCertificate, signHostCertificate } from '../peers/host-certificate.ts'
import { openPeerAuthority, sealedPlace } from '../peers/peer-authority.ts'
import type { OwnPeer, PeerDirectory } from '../peers/peer-directory.ts'
import { type PeerIdentity, PeerLinks } from '../peers/peer-links.ts'
import { PeerListener, type PeerStream } from '../peers/peer-listener.ts'
import { answerVerb, askPeer, type PeerVerbs, verbProtocol } from '../peers/peer-verbs.ts'
import { hostProtocol, type ProtocolRange } from '../peers/protocol-range.ts'
import { type PeerTimes, peerTimes } from '../peers/wire-limits.ts'
import { type OpenPlacement, openPlacement } from '../placement/open-placement.ts'
import { joinDoor } from '../trust/join-door.ts'
import { certificateVerb, type JoinParts } from '../trust/join-verbs.ts'
import type { NoteCreate, NoteErrand } from '../trust/worker-errands.ts'
import { acceptForwarded } from './accept-forwarded.ts'
import { ForwardMetrics } from './forward-metrics.ts'
import { OwnerCache, type OwnerRows } from './owner-cache.ts'
import { OwnerForwarder } from './owner-forwarder.ts'

/** The parts of a host's place in a fleet. */
export interface FleetParts {
  readonly own: OwnPeer
  readonly directory: PeerDirectory
  readonly owners: OwnerRows
  /** The address of the listener for other hosts. */
  readonly address: PeerAddress
  /**
   * The placement of new runtimes on the hosts of the service. `own`: a ready host makes all
   * runtimes of its clients, which tests use. Default: each host makes all of its own.
   */
  readonly places?: 'fleet' | 'own' | null
  /** Lets this host take a paused runtime that no host owns. Default: it takes none. */
  readonly take?: (owned: Owned) => Promise<boolean>
  /** Guards a connection that carries a forwarded request. Default: no guard. */
  readonly guard?: (connection: Duplex) => void
  /** Returns the ids of the other hosts that may have artifacts. Default: none. */
  readonly others?: () => readonly string[]
  /** The object store as a source of artifacts. Default: none. */
  readonly artifactStore?: ArtifactSource | null
  /** The verbs of this host for others. Default: none. */
  readonly verbs?: PeerVerbs
  /** The parts with which this host lets workers join. Default: none may. */
  readonly joins?: Pick<JoinParts, 'databaseUrl' | 'makeRole'> | null
  /** The time limits of connections. Default: the usual ones. */
  readonly times?: PeerTimes
  /** The versions of the protocol that this host speaks. Default: those of this service. */
  readonly protocol?: ProtocolRange
  /** The certificate and the connections of a worker. Null: this host signs its own certificate. */
  readonly identity?: PeerIdentity | null
  /** Notes the requests that this host sends to others. Default: nobody asks. */
  readonly noteErrand?: NoteErrand
  /** Notes a create that this host sends to another. Default: nobody asks. */
  readonly noteCreate?: NoteCreate
  /** Returns true if a worker serves a project. Default: none does. */
  readonly serves?: (hostId: string, projectId: string) => Promise<boolean>
  /** Notes the host that has sent a request of a project. Default: this host asks nobody. */
  readonly noteSender?: (projectId: string, hostId: string) => void
}

/** The connections of a host with the others. */
export interface OpenPeers extends FleetWire {
  /** Brings artifacts of other hosts and of the object store to this host. */
  readonly fetcher: ArtifactFetcher
  /** Reads the tar of the context of a build from another host. */
  readContext(hostId: string, contextId: string, signal: AbortSignal): AsyncIterable<Uint8Array>
  /** Asks another host to do something. Throws its error. */
  ask(hostId: string, path: string, question: unknown, signal: AbortSignal): Promise<unknown>
  /** Listens for other hosts. Resolves with the port. Call it when requests can be served. */
  listen(): Promise<number>
  /** The placement of runtimes. Null: this host makes all of its own. */
  readonly placement: OpenPlacement | null
  /** Ends all connections with other hosts. */
  close(): Promise<void>
}

/**
 * Opens the connections of a host with the others of its fleet: the fleet's authority, the host's
 * certificate, and the forwarder.
 */
export async function openPeers(
  service: Inside,
  { own, directory, owners, address, times = peerTimes, ...parts }: FleetParts,
): Promise<OpenPeers> {
  const { engine, log, now, monotonic, metrics } = service
  const { places = null, guard = () => {}, others = () => [], artifactStore = null } = parts
  const { take = async () => true, verbs = {}, protocol = hostProtocol, joins = null } = parts
  const { noteErrand = null, noteCreate = null, noteSender = () => {}, identity = null } = parts
  const { serves = async () => false } = parts
  const authority = identity === null ? await openAuthority(service) : null
  const ask: OpenPeers['ask'] = (hostId, path, question, signal) => askPeer(links, hostId, { path, question, signal })
  const certificate = identity?.certificate ?? (await ownCertificate(authority, own.hostId, log))
  const links: PeerLinks = identity?.links ?? new PeerLinks({ certificate, directory, log, times, protocol })
  const fetchMetrics = new FetchMetrics(metrics.registry)
  const artifacts = new ArtifactServer({ engine, metrics: fetchMetrics, log })
  const placement = places === null ? null : openPlacement(service, { links, ownFirst: places === 'own' })
  const readers = { db: service.store.db, serves }
  const contexts = {
    paths: service.builds.paths,
    mayRead: (id: string, asker: Pick<PeerStream, 'hostId' | 'trust'>) => mayReadContext(readers, id, asker),
    log,
  }
  let serve = (connection: Duplex): void => void connection.destroy()
  let listener: PeerListener | null = null
  return {
    forwarder: new OwnerForwarder({
      ownHostId: own.hostId,
      owners: new OwnerCache(owners, { hostId: own.hostId, monotonic }),
      links,
      metrics: new ForwardMetrics(metrics.registry),
      log,
      acceptMs: times.acceptMs,
      places: placement,
      take,
      noteErrand,
      noteCreate,
    }),
    fetcher: new ArtifactFetcher({
      engine,
      metrics: fetchMetrics,
      log,
      sourcesOf: (ref, near) => [
        ...rankPeers(ref, near, others()).map((hostId) => new PeerSource(links, hostId)),
        ...(artifactStore === null ? [] : [artifactStore]),
      ],
    }),
    placement,
    serveWith: (served) => {
      serve = (connection) => {
        guard(connection)
        served(connection)
      }
    },
    readContext: (hostId, contextId, signal) => readContext(links, { hostId, contextId }, signal),
    ask,
    listen: async () => {
      const accept = { own, rows: owners, placement, log, protocol, serve, take, noteSender }
      const joinParts = joins === null || authority === null ? null : { ...joins, service, authority }
      const known = { ...verbs, ...placement?.verbs, ...(joinParts === null ? {} : certificateVerb(joinParts)) }
      const answer = (asked: PeerStream) => {
        if (asked.headers[':method'] === 'GET' && isForContext(asked)) return serveContext(contexts, asked)
        if (asked.headers[':method'] === 'GET') return artifacts.answer(asked)
        return asked.headers[':protocol'] === verbProtocol ? answerVerb(known, asked) : acceptForwarded(accept, asked)
      }
      const strangers = joinParts === null ? {} : { answerStranger: joinDoor(joinParts) }
      listener = await PeerListener.open({ ...address, certificate, directory, log, now, times, answer, ...strangers })
      return listener.port
    },
    close: async () => {
      certificate.close()
      links.close()
      await listener?.close()
    },
  }
}

/** Keeps the certificate of a host that has the authority of the fleet. */
function ownCertificate(authority: CertifiedKey | null, hostId: string, log: Log): Promise<HostCertificate> {
  if (authority === null) throw new Error('a host without an identity needs the authority of the fleet')
  return HostCertificate.keep({ trust: 'entry', sign: () => signHostCertificate(authority, hostId), log })
}

/** Opens the fleet's authority with the master keys of this host. */
async function openAuthority({ store, masterKeys }: Inside): Promise<CertifiedKey> {
  if (masterKeys === null) throw new Error('a host without master keys needs the certificate that a front has signed')
  return openPeerAuthority(sealedPlace(store, masterKeys))
}
