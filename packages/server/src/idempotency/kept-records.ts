import type { HoltError } from '@holt/protocol'
import { dayMs } from '../day.ts'
import { limitReached } from '../limits/limit-reached.ts'
import type { Changes, Store } from '../store/open-store.ts'
import { countRows, oldestOf, removeOldest, removeRefused } from './record-rows.ts'

/** How long the same request again gets the same answer. */
const keptMs = dayMs

/**
 * What one API key may have of its project's records: however many it makes, others find room for
 * as many.
 */
const shareOfKey = 0.5

/**
 * Records that one request removes at the bound: so many that not each has to look, and so few that
 * none waits for it.
 */
const maxRemoved = 500

/**
 * What is known of an API key's records, or with null of all of its project: how many there are at
 * the most (null: not known), and until when none of them makes room.
 */
interface Tally {
  readonly rows: number | null
  readonly fullUntil: number
}

type Tallies = Map<string | null, Tally>

/**
 * The rows are counted once for each project and key, and again at the bound and where somebody
 * else has removed some.
 */
const talliesOf = new WeakMap<Store, Map<string, Tallies>>()

interface Bound {
  readonly projectId: string
  /** The API key that asks. */
  readonly keyId: string
  /** How many requests of the project are known at the most, with their answers or without. */
  readonly maxRecords: number
  readonly now: number
}

/**
 * Refuses a new request where its API key or its project is known to have as many as may be. So a
 * flood of them asks nothing of the store.
 */
export function requireRoom(store: Store, bound: Bound): void {
  const tallies = talliesIn(store, bound.projectId)
  for (const keyId of [bound.keyId, null]) {
    const fullUntil = tallies.get(keyId)?.fullUntil ?? 0
    if (bound.now < fullUntil) throw full(bound, { keyId, fullUntil })
  }
}

/**
 * Notes one more record, in the change that writes it, and before it does. At the bound the oldest
 * make room that are older than a day, and after them those of refusals, which changed nothing.
 * Throws `rate_limited` where there are none: what is younger and was done is not forgotten, for a
 * request that came again would be done again.
 */
export async function countRecord(store: Store, changes: Changes, bound: Bound): Promise<void> {
  const tallies = talliesIn(store, bound.projectId)
  for (const keyId of [bound.keyId, null]) await makeRoom(changes, tallies, { ...bound, keyId })
  for (const keyId of [bound.keyId, null]) {
    const rows = tallies.get(keyId)?.rows ?? null
    tallies.set(keyId, { rows: rows === null ? null : rows + 1, fullUntil: 0 })
  }
}

/** Notes that a record of an API key was removed. */
export function uncountRecord(store: Store, { projectId, keyId }: Maker): void {
  uncount(talliesIn(store, projectId), [keyId])
}

/** Notes that a record of an API key can be forgotten where there is no room. */
export function noteRefused(store: Store, { projectId, keyId }: Maker): void {
  const tallies = talliesIn(store, projectId)
  for (const one of [keyId, null]) tallies.set(one, { rows: tallies.get(one)?.rows ?? null, fullUntil: 0 })
}

/** Who has made a record; a null key: it is of an earlier version, which did not note it. */
interface Maker {
  readonly projectId: string
  readonly keyId: string | null
}

/**
 * Forgets what was counted for a project, where the change that counted it may have been undone.
 * Who was refused is so still.
 */
export function recountRecords(store: Store, projectId: string): void {
  const tallies = talliesIn(store, projectId)
  for (const [keyId, { fullUntil }] of tallies) tallies.set(keyId, { rows: null, fullUntil })
}

/** Removes the records of every project that are older than a day. */
export async function removeOldRecords(store: Store, now: number): Promise<void> {
  const { numDeletedRows } = await store.db
    .deleteFrom('idempotency')
    .where('created_at', '<', now - keptMs)
    .executeTakeFirstOrThrow()
  if (numDeletedRows > 0n) talliesOf.delete(store)
}

function talliesIn(store: Store, projectId: string): Tallies {
  const projects = talliesOf.get(store) ?? new Map<string, Tallies>()
  talliesOf.set(store, projects)
  const tallies: Tallies = projects.get(projectId) ?? new Map()
  projects.set(projectId, tallies)
  return tallies
}

interface Room extends Omit<Bound, 'keyId'> {
  /** The API key whose share it is; null: all of the project's. */
  readonly keyId: string | null
}

/** Sees to it that there is room for one more, and knows afterwards how many there are. */
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
  // A change that is run again has counted its record twice: who is refused, and what is forgotten,
  // is so for what there is.
  if (!(await isFull()) || (await count()) < limit) return
  uncount(tallies, await removeRefused(changes, { holder, limit: maxRemoved }))
  if (!(await isFull())) return
  // Where the clock was set back the oldest may be of the future.
  const fullUntil = Math.min(await oldestOf(changes, holder), now) + keptMs + 1
  tallies.set(keyId, { rows: null, fullUntil })
  throw full(room, { keyId, fullUntil })
}

/** Takes records off the tallies of those who had made them, and of the project. */
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
  return limitReached(
    'rate_limited',
    `The ${who} has as many requests with an Idempotency-Key as are known of one day.`,
    {
      limit: limitOf({ keyId, maxRecords }),
      retry_after_secs: Math.min(Math.ceil((fullUntil - now) / 1000), keptMs / 1000),
      hint: 'Wait as long as Retry-After says, or send the request without an Idempotency-Key.',
    },
  )
}
