import { batches } from '../foundation/store/batches.ts'
import type { Queries } from '../foundation/store/open-store.ts'

/** Returns which artifacts are in the object store, by their rows. */
export async function storedArtifacts(db: Queries, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const stored = new Set<string>()
  for (const some of batches([...new Set(ids)])) {
    const rows = await db
      .selectFrom('artifacts')
      .select('artifact_id')
      .where('artifact_id', 'in', some)
      .where('state', '=', 'stored')
      .execute()
    for (const { artifact_id } of rows) stored.add(artifact_id)
  }
  return stored
}
