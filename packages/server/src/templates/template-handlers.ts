import type { Handlers } from '../http/call.ts'
import { answerPage } from '../http/call.ts'
import { deleteTemplate } from './delete-template.ts'
import { findTemplate } from './find-template.ts'
import { listTemplates, presentTemplate } from './present-template.ts'

/** The routes of templates. */
export const templateHandlers = {
  listTemplates: async ({ service, caller, query }) =>
    answerPage(await listTemplates(service, caller.projectId, query)),
  getTemplate: async ({ service, caller, params }) => {
    const row = await findTemplate(service, { projectId: caller.projectId, reference: params.template_id })
    return { status: 200, json: presentTemplate(row, service.templateProgress) }
  },
  deleteTemplate: async ({ service, caller, params }) => {
    await deleteTemplate(service, { reference: params.template_id, caller })
    return { status: 204 }
  },
} satisfies Partial<Handlers>
