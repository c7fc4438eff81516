import { type Answer, answerPage, type Handlers } from '../http/call.ts'
import type { Service } from '../service.ts'
import type { ProjectRow } from '../store/tables.ts'
import { createProject } from './create-project.ts'
import { deleteProject } from './delete-project.ts'
import { findProject, presenterOf } from './find-project.ts'
import { listProjects } from './list-projects.ts'
import { updateProject } from './update-project.ts'

/** The routes of projects. */
export const projectHandlers = {
  createProject: async ({ service, caller: { keyId: by }, body, newId }) =>
    show(service, 201, await createProject(service, { projectId: newId('project'), request: body, by })),
  listProjects: async ({ service, query }) => answerPage(await listProjects(service, query)),
  getProject: async ({ service, params }) => show(service, 200, await findProject(service.store.db, params.project_id)),
  updateProject: async ({ service, caller: { keyId: by }, params, body }) =>
    show(service, 200, await updateProject(service, { reference: params.project_id, change: body, by })),
  deleteProject: async ({ service, caller: { keyId: by }, params }) => {
    await deleteProject(service, { reference: params.project_id, by })
    return { status: 204 }
  },
} satisfies Partial<Handlers>

async function show(service: Service, status: number, row: ProjectRow): Promise<Answer> {
  const present = await presenterOf(service, [row])
  return { status, json: present(row) }
}
