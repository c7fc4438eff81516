import type { HostDirectory } from '../../foundation/host/host-directory.ts'
import type { Log } from '../../foundation/log.ts'
import type { PeerDirectory } from '../peers/peer-directory.ts'
import { type PeerIdentity, PeerLinks } from '../peers/peer-links.ts'
import { askPeer } from '../peers/peer-verbs.ts'
import { FrontQuestions } from './front-questions.ts'
import { keepWorkerCertificate } from './worker-certificate.ts'
import type { WorkerIdentity } from './worker-identity.ts'

/** A worker in its fleet: its certificate, its connections, and its questions to fronts. */
export interface WorkerSide {
  readonly identity: PeerIdentity
  readonly fronts: FrontQuestions
}

/** The parts of a worker's place in a fleet. */
interface WorkerSideParts {
  readonly hosts: Pick<HostDirectory, 'rows'>
  readonly directory: PeerDirectory
  /** Returns the ids of the other hosts that answer. */
  readonly others: () => readonly string[]
  readonly log: Log
}

/**
 * Opens the connections of a worker to the fronts, which also renew its certificate. A worker asks
 * fronts before it serves: the networks of its runtimes open first.
 */
export async function openWorkerSide(
  identity: WorkerIdentity,
  { hosts, directory, others, log }: WorkerSideParts,
): Promise<WorkerSide> {
  const isEntry = (id: string) => hosts.rows.some(({ host_id, trust }) => host_id === id && trust === 'entry')
  const fronts = () => others().filter(isEntry)
  let links: PeerLinks | null = null
  const certificate = await keepWorkerCertificate(
    { identity, fronts },
    {
      log,
      ask: (hostId, path, question, signal) => {
        if (links === null) throw new Error('a worker renews no certificate before it has connections')
        return askPeer(links, hostId, { path, question, signal })
      },
    },
  )
  links = new PeerLinks({ certificate, directory, log })
  return { identity: { certificate, links }, fronts: new FrontQuestions({ links, fronts, log }) }
}
