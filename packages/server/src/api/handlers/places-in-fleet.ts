import type { HostBlocker, HostInFleet } from '@holt/protocol'
import { storedClockDifference } from '../../foundation/host/host-facts.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import type { Api } from '../api.ts'

/** The rows of all projects that hosts own, counted by host. */
interface OwnedRows {
  /** By host and state, of runtimes that have not ended. */
  readonly runtimes: readonly { readonly host_id: string | null; readonly state: string; readonly count: number }[]
  readonly builds: ReadonlyMap<string | null, number>
  readonly snapshots: ReadonlyMap<string | null, number>
}

/**
 * Returns a function for the place of a host in the fleet. `silentMs` says how long the host was
 * silent, if that is too long.
 */
export async function placesInFleet(service: Api): Promise<(row: HostRow, silentMs: number | null) => HostInFleet> {
  const [owned, duties] = await Promise.all([ownedRows(service), holdersOf(service)])
  const { rows } = service.hosts
  return (row, silentMs) => {
    const { host_id, state, wanted, class_id, address, protocol_min, protocol_max } = row
    const differenceMs =
      host_id === service.thisHost.hostId ? service.condition.clockDifferenceMs : storedClockDifference(row)
    return {
      ...{ state, wanted, class_id, address, protocol_min, protocol_max },
      silent_secs: silentMs === null ? null : Math.round(silentMs / 1000),
      runtimes: runtimesOf(owned, host_id),
      clock_difference_secs: differenceMs === null ? null : differenceMs / 1000,
      duties: duties.filter((duty) => duty.host_id === host_id).map(({ name }) => name),
      blockers: isJudged(row) ? [] : blockersOf(row, { owned, silentMs, rows }),
    }
  }
}

async function holdersOf({ store }: Api) {
  return store.db.selectFrom('duties').select(['name', 'host_id']).orderBy('name').execute()
}

async function ownedRows({ store }: Api): Promise<OwnedRows> {
  const [runtimes, builds, snapshots] = await Promise.all([
    store.db
      .selectFrom('runtimes')
      .select(['host_id', 'state', ({ fn }) => fn.countAll<number>().as('count')])
      .where('ended_at', 'is', null)
      .groupBy(['host_id', 'state'])
      .execute(),
    store.db
      .selectFrom('builds')
      .select(['host_id', ({ fn }) => fn.countAll<number>().as('count')])
      .where('ended_at', 'is', null)
      .groupBy('host_id')
      .execute(),
    store.db
      .selectFrom('snapshots')
      .select(['host_id', ({ fn }) => fn.countAll<number>().as('count')])
      .where('state', '=', 'ready')
      .groupBy('host_id')
      .execute(),
  ])
  return {
    runtimes: runtimes.map(({ count, ...row }) => ({ ...row, count: Number(count) })),
    builds: countsOf(builds),
    snapshots: countsOf(snapshots),
  }
}

function countsOf(rows: readonly { readonly host_id: string | null; readonly count: number }[]) {
  return new Map(rows.map(({ host_id, count }) => [host_id, Number(count)]))
}

/** Returns the number of runtimes of a host, in all states or in a given one. */
function runtimesOf({ runtimes }: OwnedRows, hostId: string, only?: string): number {
  const own = runtimes.filter(({ host_id, state }) => host_id === hostId && (only ?? state) === state)
  return own.reduce((sum, { count }) => sum + count, 0)
}

/** Returns what would be lost if the service of a host stopped, or its machine went away. */
function blockersOf(
  { host_id, state }: HostRow,
  facts: { readonly owned: OwnedRows; readonly silentMs: number | null; readonly rows: readonly HostRow[] },
): HostBlocker[] {
  const { owned, silentMs, rows } = facts
  const paused = runtimesOf(owned, host_id, 'paused')
  const running = runtimesOf(owned, host_id) - paused
  const builds = owned.builds.get(host_id) ?? 0
  const snapshots = owned.snapshots.get(host_id) ?? 0
  const isOnlyReady = state === 'ready' && rows.every((row) => row.host_id === host_id || row.state !== 'ready')
  const found: (HostBlocker | false)[] = [
    silentMs !== null && { blocks: 'upgrade', code: 'silent', message: 'It is not heard of.' },
    builds > 0 && {
      blocks: 'upgrade',
      code: 'builds',
      message: `${things(builds, 'build runs', 'builds run')} here, and would fail.`,
    },
    running > 0 && {
      blocks: 'removal',
      code: 'running',
      message: `${things(running, 'runtime runs', 'runtimes run')} here.`,
    },
    paused > 0 && {
      blocks: 'removal',
      code: 'paused',
      message: `The files of ${things(paused, 'paused runtime', 'paused runtimes')} are here alone.`,
    },
    snapshots > 0 && {
      blocks: 'removal',
      code: 'snapshots',
      message: `The files of ${things(snapshots, 'snapshot', 'snapshots')} are here alone.`,
    },
    isOnlyReady && { blocks: 'removal', code: 'only_ready_host', message: 'No other host is ready.' },
  ]
  return found.filter((blocker) => blocker !== false)
}

function things(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`
}
