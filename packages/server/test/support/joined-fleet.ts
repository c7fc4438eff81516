import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeId } from '@holt/protocol'
import { onTestFinished, vi } from 'vitest'
import { joinTokenText } from '../../src/fleet/trust/join-token.ts'
import { makeJoinToken } from '../../src/fleet/trust/join-tokens.ts'
import { openWorker } from '../../src/fleet/trust/worker-identity.ts'
import { openStore, type Store } from '../../src/foundation/store/open-store.ts'
import { FakeObjects } from './fake-artifacts.ts'
import { authorityOf, type HostOptions, pass, shareKeys, startHost, type TestHost } from './fleet.ts'
import { patience } from './moving-fleet.ts'
import { startCluster } from './postgres-cluster.ts'

/** A front, and workers that have joined it with a token, over one PostgreSQL. */
export interface JoinedFleet {
  /** The store of the front, which owns the tables. */
  readonly store: Store
  readonly front: TestHost
  readonly workers: readonly TestHost[]
}

/**
 * Starts a front, and workers as their daemons start: each has a database role of its own.
 * `optionsOf` gives each worker its options. Default: a server of their own.
 */
export async function startJoinedFleet(
  count: number,
  optionsOf: (at: number) => HostOptions = () => ({}),
  databaseUrl?: string,
): Promise<JoinedFleet> {
  const place = { url: databaseUrl ?? (await ownDatabase()) }
  const objects = new FakeObjects()
  const front = await startHost(place, { role: 'front', objects })
  const store = await openStore({ type: 'postgres', ...place, fleet: true }, () => undefined)
  onTestFinished(() => store.close())
  shareKeys(place, store)
  const fronts = [`127.0.0.1:${front.server.server.peerPort}`]
  const { certificatePem: ca } = await authorityOf(store)
  const terms = { id: makeId('join_token'), ttlMs: 60_000, uses: 'until it ends' } as const
  const { id, secret } = await makeJoinToken({ store, now: Date.now }, terms)
  const joins: HostOptions['join'] = async ({ hostId, stateDir }) => {
    const tokenFile = join(stateDir, 'token')
    await writeFile(tokenFile, joinTokenText({ ca, fronts, id, secret }))
    return openWorker({ stateDir, hostId, tokenFile, address: '127.0.0.1:1', now: Date.now() })
  }
  const workers: TestHost[] = []
  while (workers.length < count)
    workers.push(await startHost(place, { ...optionsOf(workers.length), role: 'worker', objects, join: joins }))
  const hosts = [front, ...workers]
  const waiting = store.db.selectFrom('hosts').select('host_id').where('state', '=', 'joining')
  await vi.waitUntil(async () => (await waiting.execute()).length === 0, patience)
  await pass(1, { store, hosts, beating: hosts })
  return { store, front, workers }
}

async function ownDatabase(): Promise<string> {
  const cluster = await startCluster()
  onTestFinished(() => cluster[Symbol.asyncDispose]())
  return cluster.url('postgres')
}
