import { z } from 'zod'
import { pageOf } from '../page.ts'
import type { Route } from '../route.ts'
import { ListTemplatesQuery, Template } from '../template.ts'
import { answer, none } from './parts.ts'

const templateParams = z.strictObject({ template_id: z.string().describe('The template by id, name or `name:tag`.') })

/** The routes of templates. */
export const templateRoutes = {
  listTemplates: {
    method: 'GET',
    path: '/v1/agents/template',
    runsOn: 'entry',
    summary: 'List templates',
    scope: 'template:read',
    query: ListTemplatesQuery,
    body: none,
    answers: { 200: answer(pageOf(Template).meta({ id: 'TemplatePage' }), 'A page of templates.') },
    errors: [],
  },
  getTemplate: {
    method: 'GET',
    path: '/v1/agents/template/{template_id}',
    runsOn: 'entry',
    summary: 'Get a template by id, name or name:tag',
    scope: 'template:read',
    params: templateParams,
    body: none,
    answers: { 200: answer(Template, 'The template.') },
    errors: ['template_not_found'],
  },
  deleteTemplate: {
    method: 'DELETE',
    path: '/v1/agents/template/{template_id}',
    runsOn: 'entry',
    summary: 'Delete a template by id, name or name:tag',
    description:
      'Runtimes of the template continue, and so do builds on top of it. Its own builds are cancelled. An agent template becomes `unbuilt`. System templates cannot be deleted.',
    scope: 'template:write',
    params: templateParams,
    body: none,
    answers: { 204: { type: 'none', description: 'Deleted.' } },
    errors: ['template_not_found', 'conflict'],
  },
} as const satisfies Record<string, Route>
