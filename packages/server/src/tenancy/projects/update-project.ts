import type { UpdateProject } from '@holt/protocol'
import { changedQuotas, damagedQuotas, quotasOf, storedQuotas } from '../../foundation/rows/stored-quotas.ts'
import { defaultProject } from '../../foundation/rows/system-project.ts'
import { aloneWithService } from '../../foundation/store/alone.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { ProjectRow } from '../../foundation/store/tables.ts'
import { recordEvent } from '../events/record-event.ts'
import type { Tenancy } from '../tenancy.ts'
import { requireFreeProjectName } from './create-project.ts'
import { staysDefault } from './delete-project.ts'
import { findProject } from './find-project.ts'

/** The project, the change, and the requesting key. */
interface ProjectChange {
  readonly reference: string
  readonly change: UpdateProject
  readonly by: string
}

/** Changes a project's name and quotas. Existing things above a smaller quota stay. */
export async function updateProject(
  { store, now, projects, changesElsewhere }: Tenancy,
  { reference, change, by }: ProjectChange,
): Promise<ProjectRow> {
  const at = now()
  const row = await store.change(aloneWithService, async (changes) => {
    const found = await findProject(changes, reference)
    const { project_id: projectId } = found
    // Changes that check the quotas of the project have ended, or wait.
    await changes.enterProject(projectId)
    const name = change.name ?? found.name
    if (name !== found.name) await requireRenaming(changes, found.name, name)
    const known = storedQuotas(found)
    // Damaged quotas must be set again. Otherwise a change of the name would remove them.
    if (known === null && Object.keys(change.quotas).length === 0) throw damagedQuotas()
    const quotas = changedQuotas(known ?? {}, change.quotas)
    const stored = await changes
      .updateTable('projects')
      .set({ name, quotas_json: JSON.stringify(quotas), updated_at: at })
      .where('project_id', '=', projectId)
      .returningAll()
      .executeTakeFirstOrThrow()
    await recordEvent(changes, {
      projectId,
      type: 'project.updated',
      subjectId: projectId,
      data: { by, name, quotas },
      at,
    })
    return stored
  })
  projects.set(row.project_id, quotasOf(row, projects.defaults))
  await changesElsewhere.apply({ type: 'quotas', projectId: row.project_id })
  return row
}

async function requireRenaming(db: Queries, from: string, to: string): Promise<void> {
  if (from === defaultProject)
    throw staysDefault(`The project ${defaultProject} cannot be renamed: the service finds it by its name.`)
  await requireFreeProjectName(db, to)
}
