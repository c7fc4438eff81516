import { judgedStates } from '../../foundation/host/host-row.ts'
import type { Log } from '../../foundation/log.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import { recordHostWish } from '../../tenancy/events/record-host-event.ts'
import { nodeOfGuard } from './guard-objects.ts'
import type { KubernetesApi } from './kubernetes-api.ts'
import { readNode } from './read-node.ts'

/** The parts of a host that hears of evictions. */
export interface EvictionParts {
  readonly store: Store
  readonly now: () => number
  readonly api: KubernetesApi
  readonly log: Log
}

/**
 * Empties the host of a guard that somebody tries to evict. Returns true if it does. The Node has
 * to be cordoned, and its host too: `kubectl drain` does that first, and tries again each 5 s. So
 * an invented eviction empties no host whose Node nobody drains. Throws if the API server does not
 * answer.
 */
export async function drainForEviction({ store, now, api, log }: EvictionParts, pod: string): Promise<boolean> {
  const node = nodeOfGuard(pod)
  if (node === null) return false
  if (!(await readNode(api, node)).isCordoned) return false
  const drained = await store.change(aloneWithRow, async (changes) => {
    const row = await changes
      .updateTable('hosts')
      .set({ wanted: 'draining', drain_until: null })
      .where('node', '=', node)
      .where('wanted', '=', 'cordoned')
      .where('state', 'not in', judgedStates)
      .returning('host_id')
      .executeTakeFirst()
    const reason = { code: 'eviction', message: 'Somebody evicts its guard, and its Node is cordoned.' }
    if (row !== undefined)
      await recordHostWish(changes, { hostId: row.host_id, at: now() }, { wanted: 'draining', reason })
    return row
  })
  if (drained === undefined) return false
  log.info({ host_id: drained.host_id, node }, 'a host is drained, because its Node is')
  return true
}
