import { pause } from '../../foundation/async/pause.ts'
import type { KubernetesConfig } from '../../foundation/config/kubernetes-settings.ts'
import type { Duties } from '../../foundation/host/duties.ts'
import type { Log } from '../../foundation/log.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { SeenHosts } from '../hosts/seen-hosts.ts'
import { type EvictionListenerOptions, evictionPort, listenForEvictions } from './eviction-listener.ts'
import { followNode, readNode } from './follow-node.ts'
import type { KubernetesApi } from './kubernetes-api.ts'
import { judgeLostNodes } from './lost-nodes.ts'
import type { NodeFacts } from './node-facts.ts'
import { NodeGuard } from './node-guard.ts'

/** The time before the next attempt to reach the API server, in milliseconds. */
const retryMs = 5_000

/** The parts of a host that runs in a pod. */
export interface ClusterParts {
  readonly api: KubernetesApi
  readonly settings: KubernetesConfig
  readonly store: Store
  readonly hosts: Pick<SeenHosts, 'rows' | 'opinion'>
  readonly duties: Duties
  readonly hostId: string
  readonly stateDir: string
  readonly log: Log
}

/**
 * Follows the cluster of this host until the signal is aborted: stores the name and the zone of its
 * Node, follows the Node, guards it, and judges hosts whose Node is lost. Runtimes and requests do
 * not depend on it, so the host serves them also while the API server is away. Never rejects.
 */
export async function followCluster(parts: ClusterParts, closing: AbortSignal): Promise<void> {
  const found = await findNode(parts, closing)
  if (found === null) return
  const { api, settings, store, hostId, log } = parts
  const work = [followNode(parts, closing), judgeLostNodes(parts, closing)]
  if (settings.guardImage !== null) {
    const spec = { ...found, image: settings.guardImage }
    work.push(new NodeGuard({ store, api, hostId, spec, log }).keep(closing))
  }
  if (settings.evictionsDir !== null)
    work.push(hearOfEvictions({ ...parts, dir: settings.evictionsDir, namespace: found.namespace }, closing))
  await Promise.all(work)
}

/** Listens for evictions of guards until the signal is aborted. Never rejects. */
async function hearOfEvictions(parts: Omit<EvictionListenerOptions, 'port'>, closing: AbortSignal): Promise<void> {
  try {
    const listener = await listenForEvictions({ ...parts, port: evictionPort })
    closing.addEventListener('abort', () => listener.close(), { once: true })
    if (closing.aborted) listener.close()
  } catch (err) {
    parts.log.error({ err }, 'evictions of guards are not heard of: a drain of a Node waits for its runtimes')
  }
}

/** The Node of a host, and the namespace of its pod. */
interface Place {
  readonly node: NodeFacts
  readonly namespace: string
}

/** Stores the facts of this host's Node. Tries until the signal is aborted, and is null then. */
async function findNode(parts: ClusterParts, closing: AbortSignal): Promise<Place | null> {
  const { api, store, hostId, log, settings } = parts
  while (!closing.aborted) {
    try {
      const [node, namespace] = await Promise.all([readNode(parts), api.namespace()])
      const facts = { node: node.name, zone: node.zone }
      await store.db.updateTable('hosts').set(facts).where('host_id', '=', hostId).execute()
      return { node, namespace }
    } catch (err) {
      log.warn({ err, node: settings.node }, 'the Node of this host could not be read')
      await pause(retryMs, closing)
    }
  }
  return null
}
