import { pause } from '../../foundation/async/pause.ts'
import type { Duties } from '../../foundation/host/duties.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import type { SeenHosts } from '../hosts/seen-hosts.ts'
import { type FollowParts, follow } from './follow-node.ts'
import type { KubernetesApi } from './kubernetes-api.ts'
import type { NodeFacts } from './node-facts.ts'
import { NodeGuard } from './node-guard.ts'
import { findNode } from './read-node.ts'

/** The interval between two looks at the Nodes of workers, in milliseconds. */
const lookMs = 5_000

interface WorkerNodesOptions extends FollowParts {
  readonly api: KubernetesApi
  readonly hosts: Pick<SeenHosts, 'rows'>
  readonly duties: Duties
  /** The namespace of guards. */
  readonly namespace: string
  /** The image of guards; null: there are none. */
  readonly guardImage: string | null
}

/**
 * The Nodes of workers. A worker has no access to the API server: one of the hosts with keys
 * follows its Node and guards it.
 */
export class WorkerNodes {
  readonly #options: WorkerNodesOptions
  /** The guards by the ids of their Nodes. */
  readonly #guards = new Map<string, NodeGuard>()

  constructor(options: WorkerNodesOptions) {
    this.#options = options
  }

  /** Looks at Nodes until the signal is aborted, while this host has the duty. Never rejects. */
  async keep(closing: AbortSignal): Promise<void> {
    const { duties, log } = this.#options
    while (!closing.aborted) {
      if (duties.holds('nodes'))
        await this.look().catch((err: unknown) => log.warn({ err }, 'the Nodes of workers could not be followed'))
      else this.#guards.clear()
      await pause(lookMs, closing)
    }
  }

  /** Looks at each Node once, whether or not another one can be followed. Never rejects. */
  async look(): Promise<void> {
    const { hosts, log } = this.#options
    const workers = hosts.rows.filter(({ trust, state }) => trust === 'worker' && state !== 'gone')
    for (const [name, rows] of Map.groupBy(workers, ({ node }) => node)) {
      if (name === null) continue
      await this.#lookAt(name, rows).catch((err: unknown) =>
        log.warn({ err, node: name }, 'the Node of a worker could not be followed or guarded'),
      )
    }
  }

  async #lookAt(name: string, rows: readonly HostRow[]): Promise<void> {
    const node = await findNode(this.#options.api, name)
    // Kubernetes removes the guard of a Node that was deleted.
    if (node === null) return
    const live = rows.filter((row) => !isJudged(row))
    for (const row of live) await follow(this.#options, row, node)
    await this.#guardOf(node)?.look(live.map(({ host_id }) => host_id))
  }

  /** Returns the guard of a Node. Null: there are none. */
  #guardOf({ name, uid }: NodeFacts): NodeGuard | null {
    const { guardImage: image, namespace, store, api, log } = this.#options
    if (image === null) return null
    const known = this.#guards.get(uid)
    if (known !== undefined) return known
    const guard = new NodeGuard({ store, api, spec: { namespace, node: { name, uid }, image }, log })
    this.#guards.set(uid, guard)
    return guard
  }
}
