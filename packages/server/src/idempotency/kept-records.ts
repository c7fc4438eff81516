import type { Changes, Store } from '../store/open-store.ts'
import { runningOf } from './running-requests.ts'

/** How many requests of a project are known at the most, with their answers or without: two a second for a whole day, and some hundred bytes each. */
export const maxRecordsOfProject = 200_000

/** At the bound an eighth is forgotten at once, so that not each request has to look, and this many at the most, so that none waits for it. */
const maxForgotten = 500

/** How many rows a project has. They are counted once for each project, and again where somebody else has removed some. */
const countsOf = new WeakMap<Store, Map<string, number>>()

/** Notes one more record, in the change that writes it. Where a project has more than `maxRecords` then, its oldest are forgotten. */
export async function countRecord(
  store: Store,
  changes: Changes,
  { projectId, maxRecords }: { projectId: string; maxRecords: number },
): Promise<void> {
  const known = countsOf.get(store) ?? new Map<string, number>()
  countsOf.set(store, known)
  const before = known.get(projectId)
  let count = before === undefined ? await countRows(changes, projectId) : before + 1
  if (count > maxRecords) {
    const wanted = Math.max(count - maxRecords, Math.ceil(maxRecords / 8))
    count -= await forgetOldest(store, changes, { projectId, limit: Math.min(wanted, maxForgotten) })
  }
  known.set(projectId, count)
}

/** Notes that a record was removed. */
export function uncountRecord(store: Store, projectId: string): void {
  const count = countsOf.get(store)?.get(projectId)
  if (count !== undefined) countsOf.get(store)?.set(projectId, count - 1)
}

/** Forgets what was counted for a project, where the change that counted it may have been undone. */
export function recountRecords(store: Store, projectId: string): void {
  countsOf.get(store)?.delete(projectId)
}

/** Removes the records of every project that are from before a time. */
export async function removeOldRecords(store: Store, before: number): Promise<void> {
  const { numDeletedRows } = await store.db
    .deleteFrom('idempotency')
    .where('created_at', '<', before)
    .executeTakeFirstOrThrow()
  if (numDeletedRows > 0n) countsOf.delete(store)
}

/** Forgets the oldest, and answers how many. Those that run stay known; those that have no answer and do not run, a stream's or one's that broke off, go with the others. */
export async function forgetOldest(
  store: Store,
  changes: Changes,
  { projectId, limit }: { projectId: string; limit: number },
): Promise<number> {
  const running = [...runningOf(store, projectId).keys()]
  let oldest = changes.selectFrom('idempotency').select('idempotency_key').where('project_id', '=', projectId)
  if (running.length > 0) oldest = oldest.where('idempotency_key', 'not in', running)
  const { numDeletedRows } = await changes
    .deleteFrom('idempotency')
    .where('project_id', '=', projectId)
    .where('idempotency_key', 'in', oldest.orderBy('created_at').limit(limit))
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

async function countRows(changes: Changes, projectId: string): Promise<number> {
  const { rows } = await changes
    .selectFrom('idempotency')
    .select(({ fn }) => fn.countAll().as('rows'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return Number(rows)
}
