import { type CreateProject, HoltError } from '@holt/protocol'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import { changedQuotas, quotasOf } from '../../foundation/rows/stored-quotas.ts'
import { aloneWithService } from '../../foundation/store/alone.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { ProjectRow } from '../../foundation/store/tables.ts'
import { recordEvent } from '../events/record-event.ts'
import type { Tenancy } from '../tenancy.ts'
import { projectsIn } from './find-project.ts'

/** The id and the settings of a new project, and the requesting key. */
interface ProjectCreation {
  readonly projectId: string
  readonly request: CreateProject
  readonly by: string
}

/**
 * The maximum number of projects of an installation: one for each user, and few enough to count.
 */
const maxProjects = 10_000

/** Makes a project. The same id is a repeated request whose answer was lost. */
export async function createProject(
  { store, now, projects }: Tenancy,
  { projectId, request: { name, quotas }, by }: ProjectCreation,
): Promise<ProjectRow> {
  const at = now()
  const row = await store.change(aloneWithService, async (changes) => {
    const earlier = await projectsIn(changes).where('project_id', '=', projectId).executeTakeFirst()
    if (earlier !== undefined) return earlier
    await requireRoom(changes)
    await requireFreeProjectName(changes, name)
    const stored = changedQuotas({}, quotas)
    const inserted = await changes
      .insertInto('projects')
      .values({ project_id: projectId, name, quotas_json: JSON.stringify(stored), created_at: at, updated_at: at })
      .returningAll()
      .executeTakeFirstOrThrow()
    const data = { by, name, quotas: stored }
    await recordEvent(changes, { projectId, type: 'project.created', subjectId: projectId, data, at })
    return inserted
  })
  projects.set(projectId, quotasOf(row, projects.defaults))
  return row
}

/** Throws `name_taken` if another project has the name. */
export async function requireFreeProjectName(db: Queries, name: string): Promise<void> {
  const taken = await projectsIn(db).where('name', '=', name).executeTakeFirst()
  if (taken === undefined) return
  throw new HoltError('name_taken', `A project named ${name} exists.`, { details: { project_id: taken.project_id } })
}

async function requireRoom(db: Queries): Promise<void> {
  const { count } = await db
    .selectFrom('projects')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (Number(count) < maxProjects) return
  throw limitReached('quota_exceeded', `An installation has at most ${maxProjects} projects.`, {
    limit: maxProjects,
    hint: 'Delete unused ones.',
  })
}
