import { HoltError, type HostDrain } from '@holt/protocol'
import { isJudged } from '../../foundation/host/host-row.ts'
import { readyHosts } from '../../foundation/host/ready-hosts.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import { recordHostWish } from '../../tenancy/events/record-host-event.ts'
import type { Api, Handlers } from '../api.ts'
import { findHost } from './host-change-handlers.ts'

/** The route that empties a host of a fleet. */
export const drainHandlers = {
  drainHost: async ({ service, params, body }) => {
    const host = await findHost(service, params.host_id)
    if (isJudged(host)) throw new HoltError('conflict', `The host is ${host.state}.`)
    const plan = await planOf(service, host)
    if (body.dry_run) return { status: 200, json: plan }
    if (!service.artifacts.isShared)
      throw new HoltError('conflict', 'The fleet has no object store, so no runtime can leave its host.')
    const [problem] = plan.problems
    if (problem !== undefined && !body.force && host.wanted !== 'draining')
      throw new HoltError('conflict', problem, {
        hint: 'Add a host, or set force.',
        details: { problems: plan.problems },
      })
    const at = service.now()
    await service.store.change(aloneWithRow, async (changes) => {
      const stored = await changes
        .updateTable('hosts')
        .set({ wanted: 'draining', drain_until: at + body.deadline_secs * 1000 })
        .where('host_id', '=', host.host_id)
        .where('state', '!=', 'gone')
        .returning('host_id')
        .executeTakeFirst()
      if (stored !== undefined && host.wanted !== 'draining')
        await recordHostWish(changes, { hostId: host.host_id, at }, { wanted: 'draining' })
    })
    return { status: 200, json: { ...plan, drains: true } }
  },
} satisfies Partial<Handlers>

/** Returns what a drain of a host would do now. */
async function planOf({ store: { db }, hosts, thisHost }: Api, host: HostRow): Promise<HostDrain> {
  const { host_id: hostId, class_id: classId } = host
  const live = await db
    .selectFrom('runtimes')
    .select(['runtime_id', 'state', 'isolation'])
    .where('host_id', '=', hostId)
    .where('ended_at', 'is', null)
    .execute()
  // The memory of such a runtime must not be stored.
  const withValues = await db
    .selectFrom('runtime_secrets')
    .innerJoin('runtimes', 'runtimes.runtime_id', 'runtime_secrets.runtime_id')
    .select('runtime_secrets.runtime_id')
    .where('runtimes.host_id', '=', hostId)
    .where('runtimes.ended_at', 'is', null)
    .where('runtime_secrets.placeholder', 'is', null)
    .execute()
  const holding = new Set(withValues.map(({ runtime_id }) => runtime_id))
  const paused = live.filter(({ state }) => state === 'paused')
  const others = live.filter(({ state }) => state !== 'paused' && state !== 'terminating')
  const moving = others.filter(({ runtime_id, isolation }) => isolation === 'gvisor' && !holding.has(runtime_id))
  const problems: string[] = []
  const ready = readyHosts(hosts, thisHost.hostId).filter(({ host_id }) => host_id !== hostId)
  const needClass = moving.length + paused.length + (await storedOfClass({ db }, classId))
  if (ready.length === 0) problems.push('No other host is ready.')
  else if (needClass > 0 && !ready.some(({ class_id }) => class_id === classId))
    problems.push(`No other ready host has its class, and ${needClass} runtimes need it.`)
  return {
    host_id: hostId as HostDrain['host_id'],
    drains: false,
    moving: moving.length,
    ending: others.length - moving.length,
    paused: paused.length,
    problems,
  }
}

/** Returns the number of paused runtimes without a host that only a class of hosts can resume. */
async function storedOfClass({ db }: Pick<Api['store'], 'db'>, classId: string | null): Promise<number> {
  if (classId === null) return 0
  const { count } = await db
    .selectFrom('runtimes')
    .innerJoin('artifacts', 'artifacts.artifact_id', 'runtimes.pause_checkpoint_id')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('runtimes.host_id', 'is', null)
    .where('runtimes.ended_at', 'is', null)
    .where('artifacts.class_id', '=', classId)
    .executeTakeFirstOrThrow()
  return Number(count)
}
