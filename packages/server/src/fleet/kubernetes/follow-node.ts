import { pause } from '../../foundation/async/pause.ts'
import type { KubernetesConfig } from '../../foundation/config/kubernetes-settings.ts'
import type { Log } from '../../foundation/log.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import { recordHostWish } from '../../tenancy/events/record-host-event.ts'
import type { KubernetesApi } from './kubernetes-api.ts'
import { type NodeFacts, nodeOfEvent } from './node-facts.ts'
import { readNode } from './read-node.ts'
import { wishesAfter } from './wish-of-node.ts'

/** The time before the next attempt after a watch has failed, in milliseconds. */
const retryMs = 5_000

/**
 * The longest watch, in milliseconds. A connection that is cut without a word is noticed after that
 * time.
 */
const watchMs = 120_000

/** The reason of a host that is wanted as its Node is. */
const followsNode = { code: 'follows_node', message: 'The host follows its Node.' }

/** The parts by which hosts follow their Nodes. */
export interface FollowParts {
  readonly store: Store
  readonly now: () => number
  readonly settings: Pick<KubernetesConfig, 'drainOnCordon'>
  readonly log: Log
}

/** A host with access to the API server, and its Node. */
interface FollowedHost extends FollowParts {
  readonly api: KubernetesApi
  readonly hostId: string
  readonly settings: Pick<KubernetesConfig, 'drainOnCordon' | 'node'>
}

/**
 * Follows the Node of this host until the signal is aborted: what it is told with `kubectl cordon`
 * becomes what is wanted of the host. Never rejects.
 */
export async function followNode(host: FollowedHost, closing: AbortSignal): Promise<void> {
  const { api, settings, log } = host
  while (!closing.aborted) {
    try {
      const node = await readNode(api, settings.node)
      await followOwn(host, node)
      await watchFrom(host, node, closing)
    } catch (err) {
      if (!closing.aborted) log.warn({ err, node: settings.node }, 'this host could not follow its Node')
      await pause(retryMs, closing)
    }
  }
}

/** Follows the changes of the Node until the API server ends the watch, or the time is over. */
async function watchFrom(host: FollowedHost, { version }: NodeFacts, closing: AbortSignal): Promise<void> {
  const query = new URLSearchParams({
    watch: '1',
    fieldSelector: `metadata.name=${host.settings.node}`,
    resourceVersion: version,
    timeoutSeconds: String(watchMs / 1000),
  })
  // The API server ends the watch first, if it is there.
  const signal = AbortSignal.any([closing, AbortSignal.timeout(watchMs + retryMs)])
  for await (const event of host.api.watch(`/api/v1/nodes?${query}`, signal)) {
    const node = nodeOfEvent(event)
    if (node === null) return
    await followOwn(host, node)
  }
}

async function followOwn(host: FollowedHost, node: NodeFacts): Promise<void> {
  const row = await host.store.db
    .selectFrom('hosts')
    .select(['host_id', 'wanted', 'follows_node'])
    .where('host_id', '=', host.hostId)
    .executeTakeFirstOrThrow()
  await follow(host, row, node)
}

/**
 * Makes the wish of a host follow its Node. A row that has changed since it was read stays as it
 * is: the next look follows.
 */
export async function follow(
  { store, now, settings, log }: FollowParts,
  row: Pick<HostRow, 'host_id' | 'wanted' | 'follows_node'>,
  node: NodeFacts,
): Promise<void> {
  const { drainOnCordon } = settings
  const before = { wanted: row.wanted, isFollowing: row.follows_node === 1 }
  const next = wishesAfter(before, { isCordoned: node.isCordoned, drainOnCordon })
  if (next.wanted === before.wanted && next.isFollowing === before.isFollowing) return
  const { wanted } = next
  const changed = await store.change(aloneWithRow, async (changes) => {
    const stored = await changes
      .updateTable('hosts')
      .set({ wanted, follows_node: next.isFollowing ? 1 : 0 })
      .where('host_id', '=', row.host_id)
      .where('wanted', '=', row.wanted)
      .where('follows_node', '=', row.follows_node)
      .returning('host_id')
      .executeTakeFirst()
    if (stored !== undefined && wanted !== row.wanted)
      await recordHostWish(changes, { hostId: row.host_id, at: now() }, { wanted, reason: followsNode })
    return stored
  })
  if (changed !== undefined) log.info({ host_id: row.host_id, node: node.name, wanted }, 'a host follows its Node')
}
