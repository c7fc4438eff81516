import { isIdParam } from '@holt/protocol'
import { idNotFound } from '../foundation/errors/not-found.ts'
import { readableBy } from '../foundation/rows/system-project.ts'
import type { BuildRow } from '../foundation/store/build-tables.ts'
import type { Queries } from '../foundation/store/open-store.ts'

/** Whose build, and which. */
export interface BuildRef {
  readonly projectId: string
  readonly buildId: string
}

/**
 * A build that a project reads: its own, or one of a template that Holt provides. One of another
 * project is the same as none.
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

/** The row of a project's build, if there is one. */
export async function buildRow(db: Queries, { projectId, buildId }: BuildRef): Promise<BuildRow | undefined> {
  return db
    .selectFrom('builds')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('build_id', '=', buildId)
    .executeTakeFirst()
}
