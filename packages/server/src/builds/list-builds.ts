import type { Build, Page } from '@holt/protocol'
import { readableBy } from '../foundation/rows/system-project.ts'
import { readPage } from '../foundation/store/page-cursor.ts'
import type { Call } from '../foundation/wire/call.ts'
import type { Builds } from './builds.ts'
import { presentBuild } from './present-build.ts'

/** Returns the builds that a project can read, newest first. */
export async function listBuilds(
  { store, log }: Builds,
  projectId: string,
  { name, template_id, ...page }: Call<'listBuilds', Builds>['query'],
): Promise<Page<Build>> {
  let query = store.db.selectFrom('builds').selectAll().where('project_id', 'in', readableBy(projectId))
  if (name !== undefined) query = query.where('name', '=', name)
  if (template_id !== undefined) query = query.where('template_id', '=', template_id)
  return readPage(query, page, { present: presentBuild, log })
}
