import { WorkerNodes } from '../../src/fleet/kubernetes/worker-nodes.ts'
import type { Store } from '../../src/foundation/store/open-store.ts'
import type { HostRow } from '../../src/foundation/store/tables.ts'
import type { FakeKubernetes } from './fake-kubernetes.ts'
import { keepingLog } from './start-test-server.ts'

/** The parts that a test sets of a front that follows the Nodes of workers. */
export type FollowOptions = Partial<ConstructorParameters<typeof WorkerNodes>[0]> & {
  readonly drainOnCordon?: boolean
}

/** Returns the Nodes of workers as a front follows them. `look` reads the rows first. */
export function following(store: Store, cluster: FakeKubernetes, options: FollowOptions = {}) {
  const hosts = { rows: [] as HostRow[] }
  const { log } = keepingLog()
  const { drainOnCordon = false } = options
  const parts = { api: cluster.api, namespace: 'holt', guardImage: 'holt:1', settings: { drainOnCordon }, log }
  const nodes = new WorkerNodes({ store, now: Date.now, hosts, duties: { holds: () => true }, ...parts, ...options })
  const read = async () => {
    hosts.rows = await store.db.selectFrom('hosts').selectAll().execute()
  }
  return {
    nodes,
    read,
    look: async () => {
      await read()
      await nodes.look()
    },
  }
}
