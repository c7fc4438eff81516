import type { Queries } from './open-store.ts'

/** Returns the id of a store, or null if an earlier version made the store. */
export async function storeIdOf(db: Queries): Promise<string | null> {
  const row = await db.selectFrom('store_facts').select('value').where('name', '=', 'id').executeTakeFirst()
  return row?.value ?? null
}
