import { hasEnded } from '../../foundation/rows/states.ts'
import type { Queries } from '../../foundation/store/open-store.ts'

/** The owner of a sealed key of an authority: a runtime, or a snapshot with memory. */
interface Subject {
  readonly type: 'runtime' | 'snapshot'
  /** The host that acts on it. Null: none, or it has ended. */
  readonly hostId: string | null
}

/** Returns a runtime or a snapshot by its id. Returns null if the project has neither. */
export async function findSubject(
  db: Queries,
  { projectId, ownerId }: { readonly projectId: string; readonly ownerId: string },
): Promise<Subject | null> {
  const runtime = await db
    .selectFrom('runtimes')
    .select(['host_id', 'state'])
    .where('project_id', '=', projectId)
    .where('runtime_id', '=', ownerId)
    .executeTakeFirst()
  if (runtime !== undefined) return { type: 'runtime', hostId: hasEnded(runtime.state) ? null : runtime.host_id }
  const snapshot = await db
    .selectFrom('snapshots')
    .select('host_id')
    .where('project_id', '=', projectId)
    .where('snapshot_id', '=', ownerId)
    .executeTakeFirst()
  return snapshot === undefined ? null : { type: 'snapshot', hostId: snapshot.host_id }
}
