import { type AssignTags, buildUuid, parseTag, parseTemplateName, presentTag, type RemoveTags } from '@holt/e2b'
import { HoltError, type Id, makeId } from '@holt/protocol'
import type { z } from 'zod'
import type { Api } from '../../api/api.ts'
import { requireRoomForTemplate } from '../../builds/create-build.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Changes } from '../../foundation/store/open-store.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import { deleteTemplate } from '../../resources/templates/delete-template.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import { requireQuotas } from '../../tenancy/projects/require-quotas.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import type { ControlCall } from './control-call.ts'
import { findTemplateByName, withoutProject } from './find-by-name.ts'
import { tagsOf, templateRowOf } from './template-rows-of.ts'

/** Tags to assign to the present content of a template. */
interface Assignment {
  readonly projectId: string
  readonly name: string
  /** The tag of the template that is ready. */
  readonly tag: string
  readonly tags: readonly string[]
  /** The build that the template must be from; null for any. */
  readonly buildId: string | null
}

/**
 * Gives a template further tags. Each tag is a separate template with the same image, checkpoint
 * and settings. A tag that exists moves. Returns false if the template is not ready by this build.
 */
export async function assignTags(service: Api, { buildId, tags, ...of }: Assignment): Promise<boolean> {
  const at = service.now()
  return service.store.change(aloneWith(of.projectId), async (changes) => {
    const { projectId, name, tag } = of
    const source = await templateRowOf({ store: { db: changes } }, { projectId, name, tag })
    if (source === undefined || source.state !== 'ready' || source.image_digest === null) return false
    if (buildId !== null && source.build_id !== buildId) return false
    for (const wanted of tags) if (wanted !== tag) await giveTag(service, changes, { source, wanted, at })
    return true
  })
}

/** Makes or changes the template with a tag, so that it has the content of another one. */
async function giveTag(
  service: Api,
  changes: Changes,
  { source, wanted, at }: { readonly source: TemplateRow; readonly wanted: string; readonly at: number },
): Promise<void> {
  const { seq: _, template_id: __, tag: ___, created_at, revision: ____, seed_id: _____, ...content } = source
  const { project_id: projectId, name } = source
  const row = await templateRowOf({ store: { db: changes } }, { projectId, name, tag: wanted })
  if (row === undefined) await requireRoomForTemplate(changes, projectId)
  const more = (source.size_bytes ?? 0) - (row?.size_bytes ?? 0)
  await requireQuotas(service, changes, { projectId, adds: { template_bytes: more } })
  const values = { ...content, updated_at: at }
  const templateId = row?.template_id ?? makeId('template')
  if (row === undefined)
    await changes
      .insertInto('templates')
      .values({ ...values, template_id: templateId, tag: wanted, seed_id: null, created_at: at, revision: 1 })
      .execute()
  else
    await changes
      .updateTable('templates')
      .set({ ...values, seed_id: null, revision: row.revision + 1 })
      .where('project_id', '=', projectId)
      .where('template_id', '=', templateId)
      .execute()
  const data = { from: row?.state ?? null, to: 'ready', build_id: source.build_id }
  await recordEvent(changes, { projectId, type: 'template.ready', subjectId: templateId, data, at })
}

/** Gives a template that is ready further tags. */
export async function addTags({
  service,
  caller: { projectId },
  body,
}: ControlCall<z.output<typeof AssignTags>, unknown>): Promise<E2bAnswer> {
  const target = parseTemplateName(await withoutProject(service, projectId, body.target))
  const row = await templateRowOf(service, { projectId, ...target })
  if (row === undefined) throw new HoltError('template_not_found', `template '${body.target}' not found`)
  const tags = body.tags.map(parseTag)
  if (!(await assignTags(service, { projectId, ...target, tags, buildId: null })))
    throw new HoltError('conflict', `The template '${body.target}' is not ready.`)
  return { status: 201, json: { tags: body.tags, buildID: uuidOf(row) } }
}

/** Takes tags from a template. Runtimes of these tags continue. */
export async function removeTags({
  service,
  caller,
  body,
}: ControlCall<z.output<typeof RemoveTags>, unknown>): Promise<E2bAnswer> {
  const { projectId } = caller
  const { name } = parseTemplateName(await withoutProject(service, projectId, body.name))
  const rows = await Promise.all(
    body.tags.map((tag) => templateRowOf(service, { projectId, name, tag: parseTag(tag) })),
  )
  const missing = body.tags.find((_, index) => rows[index] === undefined)
  if (missing !== undefined) throw new HoltError('template_not_found', `template '${body.name}:${missing}' not found`)
  const stopBuilds = (templateId: string) => service.builds.cancelOfTemplate(templateId)
  for (const row of rows)
    if (row !== undefined) await deleteTemplate(service, { reference: row.template_id, caller, stopBuilds })
  return { status: 204 }
}

/** Lists the tags of a template. */
export async function listTags({
  service,
  caller: { projectId },
  params: { templateID = '' },
}: ControlCall<unknown, unknown>): Promise<E2bAnswer> {
  const { name, project_id } = await findTemplateByName(service, projectId, templateID)
  const rows = await tagsOf(service, { projectId: project_id, name })
  const json = rows
    .filter((row) => row.build_id !== null)
    .map((row) => ({ tag: presentTag(row.tag), buildID: uuidOf(row), createdAt: moment(row.updated_at) }))
  return { status: 200, json }
}

/**
 * Returns the id of a template's build as clients parse it. A template of Holt itself has no build.
 */
export function uuidOf({ build_id, template_id }: Pick<TemplateRow, 'build_id' | 'template_id'>): string {
  return buildUuid((build_id ?? `bd${template_id.slice(-20)}`) as Id<'build'>)
}
