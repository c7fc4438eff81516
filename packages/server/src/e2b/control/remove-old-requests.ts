import { readdir, rm } from 'node:fs/promises'
import type { Api } from '../../api/api.ts'
import { orNone } from './left-files.ts'
import { RequestedBuilds } from './requested-builds.ts'
import { removeOldUploads } from './uploaded-files.ts'

/**
 * Removes the requests of builds and the uploads that are over, and all of deleted projects. It
 * also runs while the entry for clients of E2B is off.
 */
export async function removeOldRequests(service: Api): Promise<void> {
  const { store, builds } = service
  const { paths } = builds
  // The directories are listed first, so that a new project is never taken for a deleted one.
  const withFiles = new Set([...(await namesIn(paths.requests)), ...(await namesIn(paths.uploads))])
  if (withFiles.size === 0) return
  const rows = await store.db
    .selectFrom('projects')
    .select('project_id')
    .where('project_id', 'in', [...withFiles])
    .where('deleted_at', 'is', null)
    .execute()
  const projects = new Set(rows.map(({ project_id }) => project_id))
  const requests = new RequestedBuilds(service)
  for (const projectId of withFiles) {
    if (projects.has(projectId)) {
      await requests.sweep(projectId)
      await removeOldUploads(service, projectId)
    } else {
      const dirs = [paths.requestsOf(projectId), paths.uploadsOf(projectId)]
      await Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true })))
    }
  }
}

async function namesIn(dir: string): Promise<readonly string[]> {
  return readdir(dir).catch(orNone<string[]>([]))
}
