import type { ProjectRow } from '../../foundation/store/tables.ts'
import { type Answer, answerPage } from '../../foundation/wire/call.ts'
import { createProject } from '../../tenancy/projects/create-project.ts'
import { deleteProject } from '../../tenancy/projects/delete-project.ts'
import { findProject, presenterOf } from '../../tenancy/projects/find-project.ts'
import { listProjects } from '../../tenancy/projects/list-projects.ts'
import { updateProject } from '../../tenancy/projects/update-project.ts'
import type { Api, Handlers } from '../api.ts'

/** The routes of projects. */
export const projectHandlers = {
  createProject: async ({ service, caller: { keyId: by }, body, newId }) =>
    show(service, 201, await createProject(service, { projectId: newId('project'), request: body, by })),
  listProjects: async ({ service, query }) => answerPage(await listProjects(service, query)),
  getProject: async ({ service, params }) => show(service, 200, await findProject(service.store.db, params.project_id)),
  updateProject: async ({ service, caller: { keyId: by }, params, body }) => {
    const row = await updateProject(service, { reference: params.project_id, change: body, by })
    // Builds that wait for their project may start now.
    service.builds.look()
    return show(service, 200, row)
  },
  deleteProject: async ({ service, caller: { keyId: by }, params }) => {
    await deleteProject(service, { reference: params.project_id, by })
    return { status: 204 }
  },
} satisfies Partial<Handlers>

async function show(service: Api, status: number, row: ProjectRow): Promise<Answer> {
  const present = await presenterOf(service, [row])
  return { status, json: present(row) }
}
