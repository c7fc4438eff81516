import type { HoltError } from '@holt/protocol'
import { dayMs } from '../day.ts'
import { limitReached } from '../limits/limit-reached.ts'
import type { Changes, Store } from '../store/open-store.ts'

/** How many requests of a project are known at the most, with their answers or without: two a second for a whole day, and some hundred bytes each. */
export const maxRecordsOfProject = 200_000

/** How long the same request again gets the same answer. */
const keptMs = dayMs

/** Old ones that one request removes at the bound: so many that not each has to look, and so few that none waits for it. */
const maxRemoved = 500

/** What is known of a project's rows: how many there are at the most, and until when none of them is old enough to make room. */
interface Tally {
  readonly rows: number
  readonly fullUntil: number
}

/** The rows are counted once for each project, and again at the bound and where somebody else has removed some. */
const talliesOf = new WeakMap<Store, Map<string, Tally>>()

interface Bound {
  readonly projectId: string
  readonly maxRecords: number
  readonly now: number
}

/** Refuses a new request of a project that is known to have as many as may be. So a flood of them asks nothing of the store. */
export function requireRoom(store: Store, { projectId, maxRecords, now }: Bound): void {
  const fullUntil = talliesOf.get(store)?.get(projectId)?.fullUntil ?? 0
  if (now < fullUntil) throw full(maxRecords, fullUntil - now)
}

/**
 * Notes one more record, in the change that writes it, and before it does. Throws `rate_limited` where the project has `maxRecords` that are younger than a day: none of
 * those is forgotten, for a request that came again would be done again.
 */
export async function countRecord(store: Store, changes: Changes, bound: Bound): Promise<void> {
  const { projectId, maxRecords, now } = bound
  const tallies = talliesOf.get(store) ?? new Map<string, Tally>()
  talliesOf.set(store, tallies)
  let rows = tallies.get(projectId)?.rows ?? (await countRows(changes, projectId))
  if (rows >= maxRecords) rows -= await removeOldest(changes, { projectId, before: now - keptMs, limit: maxRemoved })
  // A change that is run again has counted its record twice: who is refused is so for what there is.
  if (rows >= maxRecords) rows = await countRows(changes, projectId)
  if (rows >= maxRecords) {
    // Where the clock was set back the oldest may be of the future.
    const fullUntil = Math.min(await oldestOf(changes, projectId), now) + keptMs + 1
    tallies.set(projectId, { rows, fullUntil })
    throw full(maxRecords, fullUntil - now)
  }
  tallies.set(projectId, { rows: rows + 1, fullUntil: 0 })
}

/** Notes that a record was removed. */
export function uncountRecord(store: Store, projectId: string): void {
  const tallies = talliesOf.get(store)
  const rows = tallies?.get(projectId)?.rows
  if (rows !== undefined) tallies?.set(projectId, { rows: rows - 1, fullUntil: 0 })
}

/** Forgets what was counted for a project, where the change that counted it may have been undone. */
export function recountRecords(store: Store, projectId: string): void {
  talliesOf.get(store)?.delete(projectId)
}

/** Removes the records of every project that are older than a day. */
export async function removeOldRecords(store: Store, now: number): Promise<void> {
  const { numDeletedRows } = await store.db
    .deleteFrom('idempotency')
    .where('created_at', '<', now - keptMs)
    .executeTakeFirstOrThrow()
  if (numDeletedRows > 0n) talliesOf.delete(store)
}

/** Removes the oldest of a project that are from before a time, and answers how many. */
export async function removeOldest(
  changes: Changes,
  { projectId, before, limit }: { projectId: string; before: number; limit: number },
): Promise<number> {
  const oldest = changes
    .selectFrom('idempotency')
    .select('idempotency_key')
    .where('project_id', '=', projectId)
    .where('created_at', '<', before)
    .orderBy('created_at')
    .limit(limit)
  const { numDeletedRows } = await changes
    .deleteFrom('idempotency')
    .where('project_id', '=', projectId)
    .where('idempotency_key', 'in', oldest)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/** The time of a project's oldest record, of which there is one. */
async function oldestOf(changes: Changes, projectId: string): Promise<number> {
  const { created_at } = await changes
    .selectFrom('idempotency')
    .select('created_at')
    .where('project_id', '=', projectId)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirstOrThrow()
  return created_at
}

async function countRows(changes: Changes, projectId: string): Promise<number> {
  const { rows } = await changes
    .selectFrom('idempotency')
    .select(({ fn }) => fn.countAll().as('rows'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return Number(rows)
}

function full(limit: number, waitMs: number): HoltError {
  return limitReached(
    'rate_limited',
    'The project has as many requests with an Idempotency-Key as are known of one day.',
    {
      limit,
      retry_after_secs: Math.min(Math.ceil(waitMs / 1000), keptMs / 1000),
      hint: 'Wait as long as Retry-After says, or send the request without an Idempotency-Key.',
    },
  )
}
