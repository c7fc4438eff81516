import { sql } from 'kysely'
import type { Changes } from '../../foundation/store/open-store.ts'

/** The holder of records: an API key, or with null the whole project. */
export interface Holder {
  readonly projectId: string
  readonly keyId: string | null
}

/** The records to remove. The oldest are removed first. */
interface Removal {
  readonly holder: Holder
  readonly limit: number
}

/** Returns the number of records. */
export async function countRows(changes: Changes, holder: Holder): Promise<number> {
  const { rows } = await rowsOf(changes, holder)
    .select(({ fn }) => fn.countAll().as('rows'))
    .executeTakeFirstOrThrow()
  return Number(rows)
}

/** Returns the time of the oldest record. There must be one. */
export async function oldestOf(changes: Changes, holder: Holder): Promise<number> {
  const { created_at } = await rowsOf(changes, holder)
    .select('created_at')
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirstOrThrow()
  return created_at
}

/** Removes records from before a time. Returns the API keys that made them. */
export function removeOldest(
  changes: Changes,
  { holder, before, limit }: Removal & { readonly before: number },
): Promise<readonly (string | null)[]> {
  return remove(changes, { holder, limit }, rowsOf(changes, holder).where('created_at', '<', before))
}

/** Removes records of refused requests. Returns the API keys that made them. */
export function removeRefused(changes: Changes, removal: Removal): Promise<readonly (string | null)[]> {
  // A literal, not a parameter: only that matches the condition of the index.
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
