import { sql } from 'kysely'
import type { Changes } from '../store/open-store.ts'

/** Whose records are meant: those that an API key has made, or with null all of a project. */
export interface Holder {
  readonly projectId: string
  readonly keyId: string | null
}

/** Records to remove. Of a number that is removed the oldest go. */
interface Removal {
  readonly holder: Holder
  readonly limit: number
}

/** How many records there are. */
export async function countRows(changes: Changes, holder: Holder): Promise<number> {
  const { rows } = await rowsOf(changes, holder)
    .select(({ fn }) => fn.countAll().as('rows'))
    .executeTakeFirstOrThrow()
  return Number(rows)
}

/** The time of the oldest record, of which there is one. */
export async function oldestOf(changes: Changes, holder: Holder): Promise<number> {
  const { created_at } = await rowsOf(changes, holder)
    .select('created_at')
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirstOrThrow()
  return created_at
}

/** Removes records that are from before a time, and answers which API keys had made them. */
export function removeOldest(
  changes: Changes,
  { holder, before, limit }: Removal & { readonly before: number },
): Promise<readonly (string | null)[]> {
  return remove(changes, { holder, limit }, rowsOf(changes, holder).where('created_at', '<', before))
}

/** Removes records of requests that were refused, and answers which API keys had made them. */
export function removeRefused(changes: Changes, removal: Removal): Promise<readonly (string | null)[]> {
  // As a number of the query, and none that is given with it, it is that of the index.
  return remove(changes, removal, rowsOf(changes, removal.holder).where('status', '>=', sql.lit(400)))
}

function rowsOf(changes: Changes, { projectId, keyId }: Holder) {
  const rows = changes.selectFrom('idempotency').where('project_id', '=', projectId)
  return keyId === null ? rows : rows.where('key_id', '=', keyId)
}

async function remove(
  changes: Changes,
  { holder, limit }: Removal,
  which: ReturnType<typeof rowsOf>,
): Promise<readonly (string | null)[]> {
  const removed = await changes
    .deleteFrom('idempotency')
    .where('project_id', '=', holder.projectId)
    .where('idempotency_key', 'in', which.select('idempotency_key').orderBy('created_at').limit(limit))
    .returning('key_id')
    .execute()
  return removed.map(({ key_id }) => key_id)
}
