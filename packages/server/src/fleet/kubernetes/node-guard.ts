import { pause } from '../../foundation/async/pause.ts'
import type { Log } from '../../foundation/log.ts'
import { notEnded } from '../../foundation/rows/not-ended.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import { type GuardSpec, guardBudget, guardName, guardPod } from './guard-objects.ts'
import type { KubernetesApi } from './kubernetes-api.ts'

/** The interval between two looks at what this host keeps, in milliseconds. */
const lookMs = 5_000

/** The looks after which the guard is made again, if somebody has removed it. */
const looksPerRenewal = 6

interface NodeGuardOptions {
  readonly store: Pick<Store, 'db'>
  readonly api: KubernetesApi
  readonly spec: GuardSpec
  readonly log: Log
}

/**
 * The guard of a Node: a pod with a budget that refuses its eviction, while a host there has
 * runtimes, or images and checkpoints that the object store lacks. A drain of the Node waits for
 * it. The drain ignores the pods of a DaemonSet.
 */
export class NodeGuard {
  readonly #options: NodeGuardOptions
  /** True if the guard is there, as this host knows it; null: unknown. */
  #isThere: boolean | null = null
  #looks = 0

  constructor(options: NodeGuardOptions) {
    this.#options = options
  }

  /** Keeps the guard of hosts until the signal is aborted. It stays then. Never rejects. */
  async keep(hostIds: readonly string[], closing: AbortSignal): Promise<void> {
    const { log, spec } = this.#options
    while (!closing.aborted) {
      await this.look(hostIds).catch((err: unknown) => {
        log.warn({ err, node: spec.node.name }, 'the guard of the Node could not be changed')
      })
      await pause(lookMs, closing)
    }
  }

  /**
   * Makes or removes the guard, if the hosts of the Node have begun to need it or need it no more.
   * Rejects if the API server does not do it. The next look tries again.
   */
  async look(hostIds: readonly string[]): Promise<void> {
    const isNeeded = await this.#isNeeded(hostIds)
    this.#looks += 1
    if (this.#looks % looksPerRenewal === 0) this.#isThere = null
    if (isNeeded === this.#isThere) return
    this.#isThere = null
    if (isNeeded) await this.#make()
    else await this.#remove()
    this.#isThere = isNeeded
  }

  /** Returns true if something would be lost with the disk of the Node. */
  async #isNeeded(hostIds: readonly string[]): Promise<boolean> {
    const { db } = this.#options.store
    if (hostIds.length === 0) return false
    const runtimes = db.selectFrom('runtimes').select('runtime_id').where('host_id', 'in', hostIds).where(notEnded)
    const local = db.selectFrom('artifacts').select('artifact_id').where('host_id', 'in', hostIds)
    for (const kept of [runtimes.limit(1), local.where('state', '=', 'local').limit(1)])
      if ((await kept.executeTakeFirst()) !== undefined) return true
    return false
  }

  /** Makes the budget first, so that the guard is never without it. */
  async #make(): Promise<void> {
    const { spec } = this.#options
    const [pods, budgets] = placesOf(spec)
    await this.#send('POST', budgets, [201, 409], guardBudget(spec))
    await this.#send('POST', pods, [201, 409], guardPod(spec))
  }

  async #remove(): Promise<void> {
    const { spec } = this.#options
    const [pods, budgets] = placesOf(spec)
    for (const place of [budgets, pods]) await this.#send('DELETE', `${place}/${guardName(spec)}`, [200, 202, 404])
  }

  async #send(method: 'POST' | 'DELETE', path: string, accepted: readonly number[], body?: object): Promise<void> {
    const { status, json } = await this.#options.api.ask(method, path, body)
    if (accepted.includes(status)) return
    throw new Error(`the API server answers ${status} to ${method} ${path}: ${JSON.stringify(json).slice(0, 500)}`)
  }
}

/** Returns the places of pods and of budgets in the API. */
function placesOf({ namespace }: GuardSpec): readonly [string, string] {
  const name = encodeURIComponent(namespace)
  return [`/api/v1/namespaces/${name}/pods`, `/apis/policy/v1/namespaces/${name}/poddisruptionbudgets`]
}
