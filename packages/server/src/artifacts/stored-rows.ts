import type { Queries } from '../foundation/store/open-store.ts'

/** The ids in one query. */
const batchIds = 500

/** Returns which artifacts are in the object store, by their rows. */
export async function storedArtifacts(db: Queries, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const asked = [...new Set(ids)]
  const stored = new Set<string>()
  for (let begin = 0; begin < asked.length; begin += batchIds) {
    const rows = await db
      .selectFrom('artifacts')
      .select('artifact_id')
      .where('artifact_id', 'in', asked.slice(begin, begin + batchIds))
      .where('state', '=', 'stored')
      .execute()
    for (const { artifact_id } of rows) stored.add(artifact_id)
  }
  return stored
}
