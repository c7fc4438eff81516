import { access, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pause } from '../../foundation/async/pause.ts'
import type { KubernetesConfig } from '../../foundation/config/kubernetes-settings.ts'
import { writeDurably } from '../../foundation/config/write-durably.ts'
import type { Log } from '../../foundation/log.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { KubernetesApi } from './kubernetes-api.ts'
import { type NodeFacts, nodeFactsOf, nodeOfEvent } from './node-facts.ts'
import { wishesAfter } from './wish-of-node.ts'

/** The time before the next attempt after a watch has failed, in milliseconds. */
const retryMs = 5_000

/**
 * The longest watch, in milliseconds. A connection that is cut without a word is noticed after that
 * time.
 */
const watchMs = 120_000

/** The file in the state directory that exists while the host is cordoned for its Node. */
const followingFile = 'cordoned-for-node'

/** The parts of a host that its Node changes. */
export interface FollowedHost {
  readonly store: Store
  readonly api: KubernetesApi
  readonly hostId: string
  readonly stateDir: string
  readonly settings: KubernetesConfig
  readonly log: Log
}

/** Reads a Node, such as this host's. Throws if the API server does not answer with it. */
export async function readNode({
  api,
  settings,
}: {
  readonly api: KubernetesApi
  readonly settings: Pick<KubernetesConfig, 'node'>
}): Promise<NodeFacts> {
  const { status, json } = await api.ask('GET', pathOf(settings.node))
  if (status !== 200) throw new Error(`the API server answers ${status} for the Node ${settings.node}`)
  return nodeFactsOf(json)
}

/** Returns the path of a Node. */
export function pathOf(node: string): string {
  return `/api/v1/nodes/${encodeURIComponent(node)}`
}

/**
 * Follows the Node of this host until the signal is aborted: what it is told with `kubectl cordon`
 * becomes what is wanted of the host. Never rejects.
 */
export async function followNode(host: FollowedHost, closing: AbortSignal): Promise<void> {
  while (!closing.aborted) {
    try {
      const node = await readNode(host)
      await follow(host, node)
      await watchFrom(host, node, closing)
    } catch (err) {
      if (!closing.aborted) host.log.warn({ err, node: host.settings.node }, 'this host could not follow its Node')
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
    await follow(host, node)
  }
}

/** Makes the wish of the host's row follow the Node. */
async function follow(host: FollowedHost, node: NodeFacts): Promise<void> {
  const { store, hostId, stateDir, settings, log } = host
  const isFollowing = await isThere(join(stateDir, followingFile))
  if (node.isCordoned === isFollowing) return
  const row = await store.db
    .selectFrom('hosts')
    .select('wanted')
    .where('host_id', '=', hostId)
    .executeTakeFirstOrThrow()
  const { drainOnCordon } = settings
  const next = wishesAfter({ wanted: row.wanted, isFollowing }, { isCordoned: node.isCordoned, drainOnCordon })
  // The file comes first. After a crash between both, the host is made ready when the Node is.
  if (next.isFollowing) await writeDurably(join(stateDir, followingFile), '')
  if (next.wanted !== row.wanted) {
    await store.change(aloneWithRow, (changes) =>
      changes.updateTable('hosts').set({ wanted: next.wanted }).where('host_id', '=', hostId).execute(),
    )
    log.info({ host_id: hostId, node: node.name, wanted: next.wanted }, 'this host follows its Node')
  }
  if (!next.isFollowing && isFollowing) await rm(join(stateDir, followingFile), { force: true })
}

/** Returns true if a file exists. */
async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
