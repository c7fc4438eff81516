import { z } from 'zod'
import { pageOf, pageQuery } from '../page.ts'
import { CreateProject, Project, UpdateProject } from '../project.ts'
import type { Route } from '../route.ts'
import { answer, json, none } from './parts.ts'

const path = '/v1/agents/project'
const params = z.strictObject({ project_id: z.string().describe('The project by id or name.') })

/** The routes of projects. */
export const projectRoutes = {
  createProject: {
    method: 'POST',
    path,
    runsOn: 'entry',
    summary: 'Make a project',
    description: 'The project has no key yet. `POST /v1/agents/key` with `project` makes its first key.',
    scope: 'operator',
    body: json(CreateProject),
    answers: { 201: answer(Project, 'The project.') },
    errors: ['name_taken', 'quota_exceeded', 'unsupported_media_type'],
  },
  listProjects: {
    method: 'GET',
    path,
    runsOn: 'entry',
    summary: 'List projects',
    description: 'Newest first.',
    scope: 'operator',
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(Project).meta({ id: 'ProjectPage' }), 'A page of projects.') },
    errors: [],
  },
  getProject: {
    method: 'GET',
    path: `${path}/{project_id}`,
    runsOn: 'entry',
    summary: 'Get a project by id or name',
    scope: 'operator',
    params,
    body: none,
    answers: { 200: answer(Project, 'The project, and its quotas with their use.') },
    errors: ['project_not_found'],
  },
  updateProject: {
    method: 'PATCH',
    path: `${path}/{project_id}`,
    runsOn: 'entry',
    summary: "Change a project's name or quotas",
    description: 'New quotas apply to later requests. A project above a quota keeps what it has.',
    scope: 'operator',
    params,
    body: json(UpdateProject),
    answers: { 200: answer(Project, 'The project as it is now.') },
    errors: ['project_not_found', 'name_taken', 'conflict', 'unsupported_media_type'],
  },
  deleteProject: {
    method: 'DELETE',
    path: `${path}/{project_id}`,
    runsOn: 'entry',
    summary: 'Delete a project',
    description:
      'The service refuses it while the project has resources, and the error lists them. Its keys and build cache are deleted with it. Its events are kept for as long as those of any project.',
    scope: 'operator',
    params,
    body: none,
    answers: { 204: { type: 'none', description: 'Deleted.' } },
    errors: ['project_not_found', 'in_use', 'conflict'],
  },
} as const satisfies Record<string, Route>
