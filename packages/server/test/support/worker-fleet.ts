import { onTestFinished, vi } from 'vitest'
import { PeerLinks } from '../../src/fleet/peers/peer-links.ts'
import { askPeer } from '../../src/fleet/peers/peer-verbs.ts'
import { hostProtocol } from '../../src/fleet/peers/protocol-range.ts'
import type { Store } from '../../src/foundation/store/open-store.ts'
import { FakeObjects } from './fake-artifacts.ts'
import { type HostOptions, pass, startHost, type TestHost, workerCertificate } from './fleet.ts'
import { patience } from './moving-fleet.ts'
import { keepingLog } from './start-test-server.ts'
import { never } from './test-hosts.ts'
import { openTestStore } from './test-store.ts'

/** Fronts and workers over one store and one object store. */
export interface WorkerFleet {
  readonly store: Store
  readonly fronts: readonly TestHost[]
  readonly workers: readonly TestHost[]
}

/** The numbers of hosts, each 1 by default, and their common settings. */
interface WorkerFleetSize {
  readonly fronts?: number
  readonly workers?: number
  readonly config?: NonNullable<HostOptions['config']>
}

/** Starts fronts, and after them workers without keys. */
export async function startWorkerFleet({
  fronts: most = 1,
  workers: count = 1,
  config = {},
}: WorkerFleetSize = {}): Promise<WorkerFleet> {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const objects = new FakeObjects()
  const hosts: TestHost[] = []
  for (let at = 0; at < most + count; at += 1)
    hosts.push(await startHost(store, { role: at < most ? 'front' : 'worker', objects, config }))
  const waiting = store.db.selectFrom('hosts').select('host_id').where('state', '=', 'joining')
  await vi.waitUntil(async () => (await waiting.execute()).length === 0, patience)
  await pass(1, { store, hosts, beating: hosts })
  return { store, fronts: hosts.slice(0, most), workers: hosts.slice(most) }
}

type Shared = Pick<WorkerFleet, 'store'>

/**
 * Returns what a stranger can do with the certificate of a worker: ask a host anything. Resolves
 * with the answer, and rejects with the error of the host.
 */
export async function strangerAs(fleet: Shared, worker: Pick<TestHost, 'hostId'>) {
  const links = await strangerLinks(fleet, worker)
  return (host: TestHost, path: string, question: unknown) =>
    askPeer(links, host.hostId, { path, question, signal: never })
}

/** Returns the connections that a stranger opens with the certificate of a worker. */
export async function strangerLinks({ store }: Shared, { hostId }: Pick<TestHost, 'hostId'>): Promise<PeerLinks> {
  const certificate = await workerCertificate(store, hostId)
  const directory = {
    find: async (id: string) => {
      const row = await store.db.selectFrom('hosts').selectAll().where('host_id', '=', id).executeTakeFirst()
      return row === undefined
        ? null
        : { hostId: id, address: row.address, isGone: false, protocol: hostProtocol, trust: row.trust }
    },
  }
  const links = new PeerLinks({ certificate, directory, log: keepingLog().log })
  onTestFinished(() => {
    links.close()
    certificate.close()
  })
  return links
}
