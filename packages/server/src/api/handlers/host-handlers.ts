import { hostname, release } from 'node:os'
import type { EngineFacts, IsolationFacts } from '@holt/engine'
import { type Host, type HostCapacity, type HostPool, Host as HostSchema } from '@holt/protocol'
import { inTime } from '../../foundation/async/in-time.ts'
import { reservedMemoryMiB } from '../../foundation/config/system-reserve.ts'
import { version } from '../../foundation/config/version.ts'
import type { CheckedMachine } from '../../foundation/host/own-host.ts'
import { unreachableText } from '../../foundation/host/require-own.ts'
import { notEnded } from '../../foundation/rows/not-ended.ts'
import { moment } from '../../foundation/store/moment.ts'
import { storedJson } from '../../foundation/store/stored-json.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import { promisedMiB } from '../../runtimes/admission/promised.ts'
import type { Api, Handlers } from '../api.ts'
import { placesInFleet } from './places-in-fleet.ts'
import { availabilityOf, readinessOf } from './readiness.ts'

/** The route of the machines that run runtimes. */
export const hostHandlers = {
  listHosts: async ({ service }) => ({ status: 200, json: { data: await listHosts(service), next_cursor: null } }),
} satisfies Partial<Handlers>

/** The time for the checks of the machine, in milliseconds. A disk that hangs would hold them. */
const checksTimeoutMs = 3_000

const mibBytes = 2 ** 20

/** Returns this host, and the others of its fleet as they have described themselves. */
async function listHosts(service: Api): Promise<Host[]> {
  const own = await ownHost(service)
  const { rows } = service.hosts
  if (rows.length === 0) return [own]
  const placeOf = await placesInFleet(service)
  return rows.map((row) => {
    const isThis = row.host_id === own.host_id
    const host = isThis ? own : describedHost(row)
    const silentMs = isThis ? null : service.hosts.silentMs(row.host_id)
    const reasons = silentMs === null ? host.reasons : [unreachableText(silentMs)]
    const isReady = row.state === 'ready' && reasons.length === 0
    return { ...host, reasons, status: isReady ? 'ready' : 'not_ready', fleet: placeOf(row, silentMs) }
  })
}

/** Returns what another host has said of itself. Before its first description little is known. */
function describedHost(row: HostRow): Host {
  const described = HostSchema.safeParse(storedJson(row.facts_json))
  if (described.success) return { ...described.data, host_id: row.host_id as Host['host_id'], version: row.version }
  return {
    ...{ host_id: row.host_id as Host['host_id'], name: row.host_id, status: 'not_ready', version: row.version },
    ...{ reasons: ['It has not described itself yet.'], engine: null, node: '', kernel: '', arch: '' },
    ...{ started_at: moment(row.joined_at), isolation: {}, capacity: null, pool_min: 0, pool_max: 0, pools: [] },
    ...{ checks: [], fleet: null, checked_at: null },
  }
}

/** Returns this host in the API's form. */
export async function ownHost(service: Api): Promise<Host> {
  const [{ facts, reasons }, checked, pools] = await Promise.all([
    readinessOf(service),
    checksInTime(service),
    poolsOf(service),
  ])
  const { floor, ceiling } = service.config.pools
  return {
    host_id: service.host.hostId as Host['host_id'],
    name: nameOf(service.config),
    status: reasons.length === 0 ? 'ready' : 'not_ready',
    reasons: [...reasons],
    version,
    engine: facts?.engine ?? null,
    node: process.versions.node,
    kernel: release(),
    arch: process.arch,
    started_at: moment(Math.round(service.now() - process.uptime() * 1000)),
    isolation: facts === null ? {} : isolationOf(facts),
    capacity: facts === null ? null : await capacityOf(service, facts),
    pool_min: Math.min(floor, ceiling),
    pool_max: ceiling,
    pools,
    checks: [...(checked?.checks ?? []), ...drainChecks(service.leaving)],
    fleet: null,
    checked_at: checked === null ? null : moment(checked.checkedAt),
  }
}

/** Returns the name of this host. A host in a pod has that of its Node, as its pod changes. */
function nameOf({ kubernetes, fleet }: Api['config']): string {
  // Several fronts may be on one Node, and each is as its pod.
  return kubernetes === null || fleet?.role === 'front' ? hostname() : kubernetes.node
}

/** The runtimes that a check names. */
const mostNamed = 5

/** Returns what keeps a drain of this host from its end. */
function drainChecks({ left, stuck }: Api['leaving']): Host['checks'] {
  const named = [...stuck].slice(0, mostNamed).map(([id, reason]) => `${id}: ${reason}`)
  const failed = stuck.size === 0 ? '' : `. ${stuck.size} could not leave yet: ${named.join('; ')}`
  return left.length === 0
    ? []
    : [{ name: 'drain', status: 'warn', message: `left: ${left.join(', ')}${failed}`, fix: null }]
}

function isolationOf({ isolation }: EngineFacts): Host['isolation'] {
  return { gvisor: classOf(isolation.gvisor), container: classOf(isolation.container) }
}

function classOf(facts: IsolationFacts): Host['isolation'][string] {
  return {
    ...availabilityOf(facts),
    runner: facts.available ? facts.runner : null,
    can_checkpoint: facts.available && facts.canCheckpoint,
  }
}

async function capacityOf(service: Api, facts: EngineFacts): Promise<HostCapacity> {
  const { config, store, usage, thisHost } = service
  const [availableMiB, promised, runtimes] = await Promise.all([
    service.freeMemoryMiB(),
    promisedMiB(store.db, thisHost),
    runtimesByState(service),
  ])
  return {
    cpus: facts.cpus,
    memory_mib: facts.memoryMiB,
    memory_available_mib: availableMiB,
    memory_reserved_mib: reservedMemoryMiB(config.reserve, facts.memoryMiB),
    memory_promised_mib: promised,
    memory_used_mib: Math.round(usage.together.memoryBytes / mibBytes),
    memory_overcommit: config.memoryOvercommit,
    disk_mib: facts.diskMiB,
    disk_free_mib: facts.diskFreeMiB,
    disk_reserved_mib: config.reserve.diskMiB,
    runtimes,
  }
}

async function runtimesByState({ store, thisHost }: Api): Promise<Readonly<Record<string, number>>> {
  const rows = await store.db
    .selectFrom('runtimes')
    .select(['state', ({ fn }) => fn.countAll<number>().as('count')])
    .where('host_id', '=', thisHost.hostId)
    .where(notEnded)
    .groupBy('state')
    .execute()
  return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]))
}

async function poolsOf({ pools, metrics }: Api): Promise<HostPool[]> {
  const claimsOf = await metrics.pools.claims()
  return pools.states.map(({ templateId, template, isolation, ready, making, size, oldestAt }) => ({
    template: { template_id: templateId as HostPool['template']['template_id'], name: template },
    isolation,
    ready,
    making,
    wanted: size,
    ...claimsOf({ template, isolation }),
    oldest_at: oldestAt === null ? null : moment(oldestAt),
  }))
}

/** Returns the checks of the machine, or null if they do not arrive in time or fail. */
async function checksInTime({ host, log }: Api): Promise<CheckedMachine | null> {
  const checks = host.checks().catch((error) => {
    log.error({ err: error }, 'the machine could not be checked')
    return null
  })
  return inTime(checks, checksTimeoutMs)
}
