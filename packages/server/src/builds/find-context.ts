import { isIdParam } from '@holt/protocol'
import { idNotFound } from '../foundation/errors/not-found.ts'
import type { BuildContextRow } from '../foundation/store/build-tables.ts'
import type { Queries } from '../foundation/store/open-store.ts'

/** Returns a project's context. A context of another project is not found. */
export async function findContext(
  db: Queries,
  { projectId, contextId }: { projectId: string; contextId: string },
): Promise<BuildContextRow> {
  const row = isIdParam('context_id', contextId)
    ? await db
        .selectFrom('build_contexts')
        .selectAll()
        .where('project_id', '=', projectId)
        .where('context_id', '=', contextId)
        .executeTakeFirst()
    : undefined
  if (row === undefined)
    throw idNotFound('context_not_found', contextId, {
      hint: 'Upload the context again. An unused context is kept for a day.',
    })
  return row
}
