import type { Build, Page } from '@holt/protocol'
import { readableBy } from '../foundation/rows/system-project.ts'
import { pageOfRows, seqBefore } from '../foundation/store/page-cursor.ts'
import type { Call } from '../foundation/wire/call.ts'
import type { Builds } from './builds.ts'
import { presentBuild } from './present-build.ts'

/** Returns the builds that a project can read, newest first. */
export async function listBuilds(
  { store, log }: Builds,
  projectId: string,
  { limit, cursor, name, template_id }: Call<'listBuilds', Builds>['query'],
): Promise<Page<Build>> {
  let query = store.db
    .selectFrom('builds')
    .selectAll()
    .where('project_id', 'in', readableBy(projectId))
    .where('seq', '<', seqBefore(cursor))
    .orderBy('seq', 'desc')
    .limit(limit + 1)
  if (name !== undefined) query = query.where('name', '=', name)
  if (template_id !== undefined) query = query.where('template_id', '=', template_id)
  return pageOfRows(await query.execute(), limit, { present: presentBuild, log })
}
