import { z } from 'zod'
import { pageOf, pageQuery } from '../page.ts'
import type { Route } from '../route.ts'
import { Template } from '../template.ts'
import { answer, none } from './parts.ts'

/** Templates. */
export const templateRoutes = {
  listTemplates: {
    method: 'GET',
    path: '/v1/agents/template',
    summary: 'List templates',
    scope: 'template:read',
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(Template).meta({ id: 'TemplatePage' }), 'A page of templates.') },
    errors: [],
  },
  getTemplate: {
    method: 'GET',
    path: '/v1/agents/template/{template_id}',
    summary: 'Get a template by id or name',
    scope: 'template:read',
    params: z.strictObject({ template_id: z.string() }),
    body: none,
    answers: { 200: answer(Template, 'The template.') },
    errors: ['template_not_found'],
  },
} as const satisfies Record<string, Route>
