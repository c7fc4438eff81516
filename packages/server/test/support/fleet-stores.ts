import { onTestFinished } from 'vitest'
import { openStore, type Store } from '../../src/foundation/store/open-store.ts'
import { hasPostgres, startCluster } from './postgres-cluster.ts'
import { openTestStore } from './test-store.ts'

async function sqlite(): Promise<Store> {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  return store
}

async function postgres(): Promise<Store> {
  const cluster = await startCluster()
  onTestFinished(() => cluster[Symbol.asyncDispose]())
  const store = await openStore({ type: 'postgres', url: cluster.url('postgres'), fleet: true }, () => undefined)
  onTestFinished(() => store.close())
  return store
}

/** The stores over which several hosts run in one process, by their names. */
export const fleetStores: readonly (readonly [string, () => Promise<Store>])[] = [
  ['SQLite', sqlite],
  ...(hasPostgres() ? [['PostgreSQL', postgres] as const] : []),
]
