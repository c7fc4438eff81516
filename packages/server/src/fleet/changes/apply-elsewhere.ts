import { HoltError } from '@holt/protocol'
import { pause } from '../../foundation/async/pause.ts'
import type { ChangesElsewhere, StoredChange } from '../../foundation/host/changes-elsewhere.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import { endedStates } from '../../foundation/rows/states.ts'
import type { Inside } from '../../inside/inside.ts'
import type { OpenPeers } from '../forwarding/open-peers.ts'
import { applyPath } from './apply-here.ts'

/** The time for the owners of runtimes to apply a change, in milliseconds. */
const ownersMs = 10_000

/**
 * The time for hosts to apply a change that they notice by themselves, in milliseconds. After it, a
 * host has read its keys, streams and quotas again, or refuses to go on without the database.
 */
const noticedMs = 2_500

/** The interval between two requests to a host that did not answer, in milliseconds. */
const againMs = 250

type Parts = Pick<Inside, 'store' | 'thisHost' | 'log'>

/**
 * Returns the function that lets the other hosts apply a stored change. It asks the owners of the
 * runtimes that a policy or a secret concerns, and all hosts for the rest. A host that does not
 * answer is asked again until the time is over.
 */
export function applyElsewhere(
  service: Parts,
  peers: () => Pick<OpenPeers, 'ask'> | null,
): NonNullable<ChangesElsewhere['tell']> {
  return async (change) => {
    const concerned = () => (isOfOwners(change) ? ownersOf(service, change) : servingHosts(service))
    const late = AbortSignal.timeout(isOfOwners(change) ? ownersMs : noticedMs)
    const apply = async (hostId: string) => {
      try {
        const answer = (await peers()?.ask(hostId, applyPath, change, late)) ?? null
        return answer === null ? [hostId] : []
      } catch (err) {
        service.log.debug({ err, host_id: hostId }, 'a host did not apply a change')
        return [hostId]
      }
    }
    let left = await concerned()
    while (left.length > 0) {
      left = (await Promise.all(left.map(apply))).flat()
      if (left.length === 0 || late.aborted) break
      await pause(againMs, late)
      // A verdict takes the runtimes from a host, and a runtime that ended concerns nobody.
      const still = new Set(await concerned())
      left = left.filter((hostId) => still.has(hostId))
    }
    if (left.length === 0) return
    const { type } = change
    service.log.warn({ host_ids: left, type }, 'hosts did not apply a stored change in time')
    if (isOfOwners(change)) throw notInForce(type, left)
  }
}

/** A change that concerns the owners of some runtimes. The others concern all hosts. */
type ChangeOfOwners = Extract<StoredChange, { readonly type: 'policy' | 'secret' }>

function isOfOwners(change: StoredChange): change is ChangeOfOwners {
  return change.type === 'policy' || change.type === 'secret'
}

/** Returns the other hosts with runtimes that have a policy or a secret. */
async function ownersOf({ store: { db }, thisHost }: Parts, change: ChangeOfOwners): Promise<readonly string[]> {
  const { projectId } = change
  // A paused runtime has no way out. It reads what is stored when it resumes.
  const withoutWay = [...endedStates, 'paused'] as const
  const runtimes = db
    .selectFrom('runtimes')
    .select('host_id')
    .distinct()
    .where('runtimes.project_id', '=', projectId)
    .where('state', 'not in', withoutWay)
  const rows = await (change.type === 'policy'
    ? runtimes
        .innerJoin('runtime_networks', 'runtime_networks.runtime_id', 'runtimes.runtime_id')
        .where('runtime_networks.policy_id', '=', change.policyId)
        .execute()
    : runtimes
        .innerJoin('runtime_secrets', 'runtime_secrets.runtime_id', 'runtimes.runtime_id')
        .where('runtime_secrets.secret_id', '=', change.secretId)
        .execute())
  return rows.flatMap(({ host_id }) => (host_id === null || host_id === thisHost.hostId ? [] : [host_id]))
}

/** Returns the other hosts that serve requests, as the database has them now. */
async function servingHosts({ store: { db }, thisHost }: Parts): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('hosts')
    .select(['host_id', 'state'])
    .where('host_id', '!=', thisHost.hostId)
    .execute()
  return rows.filter((row) => row.state !== 'joining' && !isJudged(row)).map(({ host_id }) => host_id)
}

function notInForce(what: string, hostIds: readonly string[]): HoltError {
  const where = hostIds.length === 1 ? `the host ${hostIds[0]}` : `${hostIds.length} hosts`
  return new HoltError('unavailable', `The ${what} is stored, but ${where} did not apply it in time.`, {
    hint: 'The hosts in details.host_ids apply it when they reach the database again, or lose their runtimes. Send the request again to wait for that.',
    details: { reason: 'not_in_force', host_ids: hostIds },
  })
}
