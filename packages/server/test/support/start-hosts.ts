import { onTestFinished } from 'vitest'
import { openStore, type Store } from '../../src/foundation/store/open-store.ts'
import { type HostOptions, pass, startHost, type TestHost } from './fleet.ts'
import { startCluster } from './postgres-cluster.ts'

/** Starts hosts over one PostgreSQL, each with its own connections to it. */
export async function startHosts(
  count: number,
  options: HostOptions | ((at: number) => HostOptions) = {},
): Promise<{ readonly store: Store; readonly hosts: readonly TestHost[] }> {
  const cluster = await startCluster()
  onTestFinished(() => cluster[Symbol.asyncDispose]())
  const shared = { url: cluster.url('postgres') }
  const hosts: TestHost[] = []
  while (hosts.length < count)
    hosts.push(await startHost(shared, typeof options === 'function' ? options(hosts.length) : options))
  // The test looks at the rows beside them.
  const store = await openStore({ type: 'postgres', ...shared, fleet: true }, () => undefined)
  onTestFinished(() => store.close())
  await pass(1, { store, hosts, beating: hosts })
  return { store, hosts }
}
