import { answerPage } from '../../foundation/wire/call.ts'
import { deleteTemplate } from '../../resources/templates/delete-template.ts'
import { findTemplate } from '../../resources/templates/find-template.ts'
import { listTemplates, presentTemplate } from '../../resources/templates/present-template.ts'
import type { Handlers } from '../api.ts'

/** The routes of templates. */
export const templateHandlers = {
  listTemplates: async ({ service, caller, query }) =>
    answerPage(await listTemplates(service, caller.projectId, query)),
  getTemplate: async ({ service, caller, params }) => {
    const row = await findTemplate(service, { projectId: caller.projectId, reference: params.template_id })
    return { status: 200, json: presentTemplate(row, service.templateProgress) }
  },
  deleteTemplate: async ({ service, caller, params }) => {
    const stopBuilds = (templateId: string) => service.builds.cancelOfTemplate(templateId)
    await deleteTemplate(service, { reference: params.template_id, caller, stopBuilds })
    return { status: 204 }
  },
} satisfies Partial<Handlers>
