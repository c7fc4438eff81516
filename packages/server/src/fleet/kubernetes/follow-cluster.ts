import type { FleetConfig } from '../../foundation/config/fleet-settings.ts'
import type { KubernetesConfig } from '../../foundation/config/kubernetes-settings.ts'
import type { Duties } from '../../foundation/host/duties.ts'
import type { Log } from '../../foundation/log.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { SeenHosts } from '../hosts/seen-hosts.ts'
import { type EvictionListenerOptions, evictionPort, listenForEvictions } from './eviction-listener.ts'
import { followNode } from './follow-node.ts'
import type { KubernetesApi } from './kubernetes-api.ts'
import { judgeLostNodes } from './lost-nodes.ts'
import { NodeGuard } from './node-guard.ts'
import { readNode } from './read-node.ts'
import { untilDone } from './until-done.ts'
import { WorkerNodes } from './worker-nodes.ts'

/** The parts of a host with keys that runs in a pod. */
export interface ClusterParts {
  readonly api: KubernetesApi
  readonly settings: KubernetesConfig
  readonly role: FleetConfig['role']
  readonly store: Store
  readonly now: () => number
  readonly hosts: Pick<SeenHosts, 'rows' | 'opinion'>
  readonly duties: Duties
  readonly hostId: string
  readonly log: Log
}

/**
 * Follows the cluster of a host with keys until the signal is aborted. Any one judges hosts whose
 * Node is lost, and follows and guards the Nodes of workers. A host that runs runtimes also follows
 * and guards its own. Runtimes and requests do not depend on it, so the host serves them also while
 * the API server is away. Never rejects.
 */
export async function followCluster(parts: ClusterParts, closing: AbortSignal): Promise<void> {
  const { api, settings, role, log } = parts
  const namespace = await untilDone(() => api.namespace(), { log, closing, failed: 'this pod has no service account' })
  if (namespace === null) return
  const { guardImage, evictionsDir } = settings
  const work = [
    judgeLostNodes(parts, closing),
    new WorkerNodes({ ...parts, namespace, guardImage }).keep(closing),
    ...(role === 'front' ? [] : [followOwnNode(parts, namespace, closing)]),
  ]
  if (evictionsDir !== null) work.push(hearOfEvictions({ ...parts, dir: evictionsDir, namespace }, closing))
  await Promise.all(work)
}

/** Stores the name and the zone of this host's Node, follows it, and guards it. Never rejects. */
async function followOwnNode(parts: ClusterParts, namespace: string, closing: AbortSignal): Promise<void> {
  const { api, settings, store, hostId, log } = parts
  const place = async () => {
    const node = await readNode(api, settings.node)
    const facts = { node: node.name, zone: node.zone }
    await store.db.updateTable('hosts').set(facts).where('host_id', '=', hostId).execute()
    return node
  }
  const node = await untilDone(place, { log, closing, failed: 'the Node of this host could not be read' })
  if (node === null) return
  const { guardImage: image } = settings
  const guard = image === null ? null : new NodeGuard({ store, api, spec: { namespace, node, image }, log })
  await Promise.all([followNode(parts, closing), guard?.keep([hostId], closing)])
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
