import { type Insertable, sql } from 'kysely'
import type { Changes, Queries } from '../store/open-store.ts'
import type { HostRow, Tables } from '../store/tables.ts'

/** A host that begins to be one. */
export interface NewHost {
  readonly hostId: string
  /** The boot of the machine. */
  readonly bootId: string
  /** The version of its service. */
  readonly version: string
  /** Milliseconds since 1970 UTC. */
  readonly at: number
}

/** Returns the row of a host that is in no fleet. */
export function newHostRow({ hostId, bootId, version, at }: NewHost): Insertable<Tables['hosts']> {
  return {
    host_id: hostId,
    epoch: 1,
    beat: 0,
    state: 'ready',
    wanted: 'ready',
    address: '',
    class_id: null,
    protocol_min: 0,
    protocol_max: 0,
    version,
    key_ids: '',
    boot_id: bootId,
    clock_offset: null,
    facts_json: '{}',
    node: null,
    zone: null,
    joined_at: at,
    seen_at: at,
  }
}

/** The states of a host with a verdict against it, or that an operator has forgotten. */
export const judgedStates = ['lost', 'gone'] as const

/** Returns true if a host has lost its rows: it is lost or gone. */
export function isJudged({ state }: Pick<HostRow, 'state'>): boolean {
  return judgedStates.some((judged) => judged === state)
}

/** The tables whose rows a host owns, with its epoch. */
export const ownedTables = ['runtimes', 'pool_members', 'builds', 'build_resources', 'snapshots'] as const

/** The tables of what lies on a host's disk, each with its key beside project and host. */
const onDisk = [
  ['build_cache', 'key'],
  ['build_mounts', 'mount_id'],
  ['pulled_images', 'key'],
] as const

/**
 * Makes the first host of a store, and gives it every row: those of an earlier version, which had
 * no hosts, and those of an import, which had others.
 */
export async function makeFirstHost(changes: Changes, host: NewHost): Promise<void> {
  const { hostId } = host
  await changes.deleteFrom('hosts').execute()
  await changes
    .insertInto('hosts')
    .values({ ...newHostRow(host), ...(await formerClock(changes)) })
    .execute()
  await changes.deleteFrom('store_facts').where('name', '=', 'clock').execute()
  for (const table of ownedTables)
    await changes
      .updateTable(table)
      .set({ host_id: hostId, host_epoch: 1 })
      // A dump of a fleet may have rows of this host with a later epoch.
      .where(({ eb, or }) => or([eb('host_id', 'is', null), eb('host_id', '!=', hostId), eb('host_epoch', '!=', 1)]))
      .execute()
  await changes.updateTable('build_contexts').set({ host_id: hostId }).execute()
  for (const kept of onDisk) {
    const [table] = kept
    await removeDoubles(changes, kept)
    await changes.updateTable(table).set({ host_id: hostId }).where('host_id', '!=', hostId).execute()
  }
}

/** Keeps one of the rows that several hosts have of one key. */
async function removeDoubles(changes: Queries, [table, key]: (typeof onDisk)[number]): Promise<void> {
  const own = (column: string) => sql.ref(`${table}.${column}`)
  const other = (column: string) => sql.ref(`other.${column}`)
  await sql`
    DELETE FROM ${sql.table(table)} WHERE EXISTS (
      SELECT 1 FROM ${sql.table(table)} AS other
      WHERE ${other('project_id')} = ${own('project_id')}
        AND ${other(key)} = ${own(key)} AND ${other('host_id')} > ${own('host_id')})`.execute(changes)
}

/** Returns the clocks that a version without hosts has stored. */
async function formerClock(changes: Queries): Promise<{ boot_id?: string; clock_offset?: number }> {
  const row = await changes.selectFrom('store_facts').select('value').where('name', '=', 'clock').executeTakeFirst()
  const [boot_id, text] = row?.value.split(' ') ?? []
  const clock_offset = Number(text)
  return boot_id === undefined || !Number.isSafeInteger(clock_offset) ? {} : { boot_id, clock_offset }
}
