import { pause } from '../../foundation/async/pause.ts'
import type { Duties } from '../../foundation/host/duties.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import type { Log } from '../../foundation/log.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import type { SeenHosts } from '../hosts/seen-hosts.ts'
import { passVerdict } from '../hosts/verdict.ts'
import type { KubernetesApi } from './kubernetes-api.ts'
import { findNode } from './read-node.ts'

/** The interval between two looks at the Nodes of suspect hosts, in milliseconds. */
const lookMs = 5_000

interface LostNodesOptions {
  readonly store: Store
  readonly now: () => number
  readonly api: KubernetesApi
  readonly hosts: Pick<SeenHosts, 'rows' | 'opinion'>
  readonly duties: Duties
  readonly log: Log
}

/**
 * Passes verdicts on suspect hosts whose Node was deleted or has the taint `out-of-service`, until
 * the signal is aborted. The machine is known to be off then, so there is no reason to wait. The
 * host with the duty `judge` does it. Never rejects.
 */
export async function judgeLostNodes(options: LostNodesOptions, closing: AbortSignal): Promise<void> {
  while (!closing.aborted) {
    await judgeOnce(options).catch((err: unknown) => options.log.warn({ err }, 'the Nodes of hosts could not be read'))
    await pause(lookMs, closing)
  }
}

/** Looks once at the Nodes of the suspect hosts. A beat since then prevents the verdict. */
export async function judgeOnce({ store, now, api, hosts, duties, log }: LostNodesOptions): Promise<void> {
  if (!duties.holds('judge')) return
  for (const suspect of hosts.opinion.suspects) {
    const row = hosts.rows.find(({ host_id }) => host_id === suspect.hostId)
    if (row === undefined || isJudged(row)) continue
    const why = await whyLost(api, row)
    if (why === null) continue
    if (
      await passVerdict(
        { store, now },
        { ...suspect, reason: { code: 'node_lost', message: `The host is lost, because ${why}.` } },
      )
    )
      log.error({ host_id: suspect.hostId, node: row.node, why }, 'a host is lost, as its Node is')
  }
}

/** Returns why the machine of a host is known to be off; null: it is not known. */
async function whyLost(api: KubernetesApi, { node: name }: Pick<HostRow, 'node'>): Promise<string | null> {
  if (name === null) return null
  const node = await findNode(api, name)
  if (node === null) return 'its Node was deleted'
  return node.isOut ? 'its Node has the taint out-of-service' : null
}
