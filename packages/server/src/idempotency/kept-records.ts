import type { Changes, Store } from '../store/open-store.ts'

/** How many requests of a project are known at the most, with their answers or without: two a second for a whole day, and some hundred bytes each. */
export const maxRecordsOfProject = 200_000

/** What is known of the rows: at least as many as there are, since nobody counts what grows old. They are counted once for each project, and again at the bound. */
const rowsOf = new WeakMap<Store, Map<string, number>>()

/** Notes one more record, in the change that writes it. Where a project has more than `maxRecords` then, the oldest that were answered are forgotten. */
export async function countRecord(
  store: Store,
  changes: Changes,
  { projectId, maxRecords }: { projectId: string; maxRecords: number },
): Promise<void> {
  const known = rowsOf.get(store) ?? new Map<string, number>()
  rowsOf.set(store, known)
  const before = known.get(projectId)
  let count = before === undefined ? await countRows(changes, projectId) : before + 1
  if (count > maxRecords) count = await forgetOldest(changes, projectId, maxRecords)
  known.set(projectId, count)
}

/** Forgets until an eighth is free, so that not each request has to look. What has not been answered yet is known for as long as it runs. */
async function forgetOldest(changes: Changes, projectId: string, maxRecords: number): Promise<number> {
  const count = await countRows(changes, projectId)
  if (count <= maxRecords) return count
  const newest = await changes
    .selectFrom('idempotency')
    .select('created_at')
    .where('project_id', '=', projectId)
    .orderBy('created_at', 'desc')
    .offset(maxRecords - Math.ceil(maxRecords / 8))
    .limit(1)
    .executeTakeFirstOrThrow()
  await changes
    .deleteFrom('idempotency')
    .where('project_id', '=', projectId)
    .where('status', 'is not', null)
    .where('created_at', '<=', newest.created_at)
    .execute()
  return countRows(changes, projectId)
}

async function countRows(changes: Changes, projectId: string): Promise<number> {
  const { rows } = await changes
    .selectFrom('idempotency')
    .select(({ fn }) => fn.countAll().as('rows'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return Number(rows)
}
