import type { Api } from '../../api/api.ts'
import { RequestedBuilds } from './requested-builds.ts'
import { removeOldUploads } from './uploaded-files.ts'

/**
 * Removes the requests of builds and the uploads that are over, and all of deleted projects. It
 * also runs while the entry for clients of E2B is off.
 */
export async function removeOldRequests(service: Api): Promise<void> {
  const { store, builds } = service
  // The notes are listed first, so that a new project is never taken for a deleted one.
  const withNotes = await builds.notes.projects()
  if (withNotes.length === 0) return
  const rows = await store.db
    .selectFrom('projects')
    .select('project_id')
    .where('project_id', 'in', withNotes)
    .where('deleted_at', 'is', null)
    .execute()
  const projects = new Set(rows.map(({ project_id }) => project_id))
  const requests = new RequestedBuilds(service)
  for (const projectId of withNotes) {
    if (projects.has(projectId)) {
      await requests.sweep(projectId)
      await removeOldUploads(service, projectId)
    } else await builds.notes.removeAll(projectId)
  }
}
