import { isIdParam } from '@holt/protocol'
import { idNotFound } from '../foundation/errors/not-found.ts'
import { readableBy } from '../foundation/rows/system-project.ts'
import type { BuildRow } from '../foundation/store/build-tables.ts'
import type { Queries } from '../foundation/store/open-store.ts'

/** The project and the id of a build. */
export interface BuildRef {
  readonly projectId: string
  readonly buildId: string
}

/**
 * Returns a build that a project can read: its own, or one of a template of Holt. A build of
 * another project is not found.
 */
export async function findBuild(db: Queries, { projectId, buildId }: BuildRef): Promise<BuildRow> {
  const row = isIdParam('build_id', buildId)
    ? await db
        .selectFrom('builds')
        .selectAll()
        .where('project_id', 'in', readableBy(projectId))
        .where('build_id', '=', buildId)
        .executeTakeFirst()
    : undefined
  if (row === undefined) throw idNotFound('build_not_found', buildId)
  return row
}

/** Returns the row of a project's build, or undefined if there is none. */
export async function buildRow(db: Queries, { projectId, buildId }: BuildRef): Promise<BuildRow | undefined> {
  return db
    .selectFrom('builds')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('build_id', '=', buildId)
    .executeTakeFirst()
}
