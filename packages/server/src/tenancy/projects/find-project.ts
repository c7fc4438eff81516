import { type HoltError, isIdParam, type Project } from '@holt/protocol'
import { comparedNames, idNotFound, nameNotFound } from '../../foundation/errors/not-found.ts'
import { foundFor } from '../../foundation/request/request-context.ts'
import { quotasOf } from '../../foundation/rows/stored-quotas.ts'
import { systemProjectId } from '../../foundation/rows/system-project.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { ProjectRow } from '../../foundation/store/tables.ts'
import type { Tenancy } from '../tenancy.ts'
import { quotaUse } from './quota-use.ts'

/** Selects the existing projects without the service's own, for callers who may know of all. */
export function projectsIn(db: Queries) {
  return db
    .selectFrom('projects')
    .selectAll()
    .where('deleted_at', 'is', null)
    .where('project_id', '!=', systemProjectId)
}

/** Returns a project by id or name. */
export async function findProject(db: Queries, reference: string): Promise<ProjectRow> {
  const row = await projectsIn(db)
    .where(isIdParam('project_id', reference) ? 'project_id' : 'name', '=', reference)
    .executeTakeFirst()
  if (row === undefined) throw await notFound(db, reference)
  foundFor(reference, row.project_id)
  return row
}

async function notFound(db: Queries, reference: string): Promise<HoltError> {
  if (isIdParam('project_id', reference)) return idNotFound('project_not_found', reference)
  return nameNotFound('project_not_found', reference, async () => {
    const rows = await projectsIn(db).orderBy('created_at', 'desc').limit(comparedNames).execute()
    return rows.map(({ name }) => name)
  })
}

/** Returns the function that presents the given projects as the API shows them. */
export async function presenterOf(
  { store, projects }: Pick<Tenancy, 'store' | 'projects'>,
  rows: readonly ProjectRow[],
): Promise<(row: ProjectRow) => Project> {
  const use = await quotaUse(
    store.db,
    rows.map(({ project_id }) => project_id),
  )
  return (row) => ({
    project_id: row.project_id as Project['project_id'],
    name: row.name,
    quotas: quotasOf(row, projects.defaults),
    use: use(row.project_id),
    created_at: moment(row.created_at),
    updated_at: moment(row.updated_at),
  })
}
