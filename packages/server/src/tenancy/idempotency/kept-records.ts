import type { HoltError } from '@holt/protocol'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import type { Changes, Store } from '../../foundation/store/open-store.ts'
import { dayMs } from '../../foundation/time/day.ts'
import { countRows, oldestOf, removeOldest, removeRefused } from './record-rows.ts'
import type { RecordState, Tallies } from './record-state.ts'

/** The time for which a repeated request gets the same answer, in milliseconds. */
const keptMs = dayMs

/**
 * The share of a project's records that one API key may have. The rest stays available to other
 * keys.
 */
const shareOfKey = 0.5

/**
 * The records that one request removes at the limit. They are enough for later requests, and few
 * enough that none waits.
 */
const maxRemoved = 500

interface Bound {
  readonly projectId: string
  /** The API key of the request. */
  readonly keyId: string
  /** The maximum number of records of the project, with or without answers. */
  readonly maxRecords: number
  readonly now: number
}

/**
 * Throws `rate_limited` if the API key or the project is known to be full. A flood of requests thus
 * causes no query.
 */
export function requireRoom(state: RecordState, bound: Bound): void {
  const tallies = state.talliesOf(bound.projectId)
  for (const keyId of [bound.keyId, null]) {
    const fullUntil = tallies.get(keyId)?.fullUntil ?? 0
    if (bound.now < fullUntil) throw full(bound, { keyId, fullUntil })
  }
}

/**
 * Counts one more record, before the change that writes it does so. At the limit, removes the
 * oldest records of more than a day, and then those of refusals, which changed nothing. Throws
 * `rate_limited` if there are none. Younger records of completed requests stay, because a repeated
 * request would be done again.
 */
export async function countRecord(state: RecordState, changes: Changes, bound: Bound): Promise<void> {
  const tallies = state.talliesOf(bound.projectId)
  for (const keyId of [bound.keyId, null]) await makeRoom(changes, tallies, { ...bound, keyId })
  for (const keyId of [bound.keyId, null]) {
    const rows = tallies.get(keyId)?.rows ?? null
    tallies.set(keyId, { rows: rows === null ? null : rows + 1, fullUntil: 0 })
  }
}

/** Subtracts a removed record of an API key. */
export function uncountRecord(state: RecordState, { projectId, keyId }: Maker): void {
  uncount(state.talliesOf(projectId), [keyId])
}

/** Notes that a record of an API key can be removed if there is no space. */
export function noteRefused(state: RecordState, { projectId, keyId }: Maker): void {
  const tallies = state.talliesOf(projectId)
  for (const one of [keyId, null]) tallies.set(one, { rows: tallies.get(one)?.rows ?? null, fullUntil: 0 })
}

/** The maker of a record. The key is null if an earlier version wrote it. */
interface Maker {
  readonly projectId: string
  readonly keyId: string | null
}

/**
 * Resets the counts of a project, if the change that counted may have been rolled back. Refusals
 * stay in force.
 */
export function recountRecords(state: RecordState, projectId: string): void {
  const tallies = state.talliesOf(projectId)
  for (const [keyId, { fullUntil }] of tallies) tallies.set(keyId, { rows: null, fullUntil })
}

/** Removes the records of every project that are older than a day. */
export async function removeOldRecords(
  { store, records }: { readonly store: Store; readonly records: RecordState },
  now: number,
): Promise<void> {
  const { numDeletedRows } = await store.db
    .deleteFrom('idempotency')
    .where('created_at', '<', now - keptMs)
    .executeTakeFirstOrThrow()
  if (numDeletedRows > 0n) records.forgetTallies()
}

interface Room extends Omit<Bound, 'keyId'> {
  /** The API key with the share. Null: the whole project. */
  readonly keyId: string | null
}

/** Makes space for one more record. Afterwards the count is known. */
async function makeRoom(changes: Changes, tallies: Tallies, room: Room): Promise<void> {
  const { projectId, keyId, now } = room
  const holder = { projectId, keyId }
  const limit = limitOf(room)
  const count = async () => {
    const rows = await countRows(changes, holder)
    tallies.set(keyId, { rows, fullUntil: 0 })
    return rows
  }
  const isFull = async () => (tallies.get(keyId)?.rows ?? (await count())) >= limit
  if (!(await isFull())) return
  uncount(tallies, await removeOldest(changes, { holder, before: now - keptMs, limit: maxRemoved }))
  // A repeated change has counted its record twice. Refusals and removals therefore use a fresh
  // count.
  if (!(await isFull()) || (await count()) < limit) return
  uncount(tallies, await removeRefused(changes, { holder, limit: maxRemoved }))
  if (!(await isFull())) return
  // After the clock was set back, the oldest record may be in the future.
  const fullUntil = Math.min(await oldestOf(changes, holder), now) + keptMs + 1
  tallies.set(keyId, { rows: null, fullUntil })
  throw full(room, { keyId, fullUntil })
}

/** Subtracts records from the tallies of their keys and of the project. */
function uncount(tallies: Tallies, keyIds: readonly (string | null)[]): void {
  for (const keyId of keyIds)
    for (const one of keyId === null ? [null] : [keyId, null]) {
      const rows = tallies.get(one)?.rows ?? null
      tallies.set(one, { rows: rows === null ? null : rows - 1, fullUntil: 0 })
    }
}

function limitOf({ keyId, maxRecords }: Pick<Room, 'keyId' | 'maxRecords'>): number {
  return keyId === null ? maxRecords : Math.ceil(maxRecords * shareOfKey)
}

function full(
  { maxRecords, now }: Omit<Bound, 'keyId'>,
  { keyId, fullUntil }: { keyId: string | null; fullUntil: number },
): HoltError {
  const who = keyId === null ? 'project' : 'API key'
  return limitReached('rate_limited', `The ${who} has reached the daily limit of requests with an Idempotency-Key.`, {
    limit: limitOf({ keyId, maxRecords }),
    retry_after_secs: Math.min(Math.ceil((fullUntil - now) / 1000), keptMs / 1000),
    hint: 'Wait for the seconds in Retry-After, or send the request without an Idempotency-Key.',
  })
}
