import { systemProjectId } from '../../foundation/rows/system-project.ts'
import { deleteTemplate } from '../../resources/templates/delete-template.ts'
import { deleteSnapshot } from '../../runtimes/snapshots/delete-snapshot.ts'
import { requireScope } from '../../tenancy/auth/authenticate.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import { clientTemplateId } from '../sandbox/client-template-id.ts'
import type { ControlCall } from './control-call.ts'
import { findTemplateByName, findWhole } from './find-by-name.ts'
import { tagsOf } from './template-rows-of.ts'

/** Says which template a name stands for. */
export async function findAlias({
  service,
  caller: { projectId },
  params: { alias = '' },
}: ControlCall<unknown, unknown>): Promise<E2bAnswer> {
  const { name, project_id } = await findTemplateByName(service, projectId, alias)
  const json = { templateID: clientTemplateId(projectId, name), public: project_id === systemProjectId }
  return { status: 200, json }
}

/** Deletes a template or a snapshot, which clients delete through one path. */
export async function deleteNamed({
  service,
  caller,
  params: { templateID: reference = '' },
}: ControlCall<unknown, unknown>): Promise<E2bAnswer> {
  const { projectId, keyId: by } = caller
  const found = await findWhole(service, projectId, reference)
  if ('template' in found) {
    requireScope(caller, 'template:write')
    const stopBuilds = (templateId: string) => service.builds.cancelOfTemplate(templateId)
    // A template of a client is one with all its tags, unless one tag is named.
    const { name, project_id, kind } = found.template
    const isWhole = kind === 'custom' && !reference.includes(':')
    const rows = isWhole ? await tagsOf(service, { projectId: project_id, name }) : [found.template]
    for (const { template_id } of rows) await deleteTemplate(service, { reference: template_id, caller, stopBuilds })
  } else {
    requireScope(caller, 'runtime:write')
    await deleteSnapshot(service, { projectId, reference: found.snapshotId, by })
  }
  return { status: 204 }
}
