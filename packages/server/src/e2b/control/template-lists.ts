import {
  buildUuid,
  E2bError,
  envdVersion,
  type ListTemplates,
  presentTag,
  templateStatus,
  type UpdateTemplate,
} from '@holt/e2b'
import type { Id } from '@holt/protocol'
import type { z } from 'zod'
import type { Api } from '../../api/api.ts'
import { moment, momentOrNull } from '../../foundation/store/moment.ts'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import { clientTemplateId } from '../sandbox/client-template-id.ts'
import { presentSize } from '../sandbox/present-size.ts'
import type { ControlCall } from './control-call.ts'
import { findTemplateByName } from './find-by-name.ts'
import { pageHeaders } from './list-sandboxes.ts'
import { tagsOf } from './template-rows-of.ts'
import { uuidOf } from './template-tags.ts'

type ListCall = ControlCall<unknown, z.output<typeof ListTemplates>>

/** A template as its clients see it: all rows of a name, which differ by their tags. */
interface TaggedTemplate {
  readonly rows: readonly TemplateRow[]
  /** The row with the default tag, or else the newest. */
  readonly shown: TemplateRow
}

/** Lists the templates of the project, newest first, one page at a time. */
export async function listTemplatesPage(call: ListCall): Promise<E2bAnswer> {
  const { service, caller, query } = call
  const after = query.nextToken === undefined ? null : Number(query.nextToken)
  if (after !== null && !Number.isSafeInteger(after)) throw new E2bError(400, 'nextToken is not one of this list')
  const { projectId } = caller
  const firsts = await readOneByOne(service, { projectId, gone: call.gone }, () =>
    service.store.db
      .selectFrom('templates')
      .select(['name', ({ fn }) => fn.min<number>('seq').as('first')])
      .where('project_id', '=', projectId)
      .groupBy('name')
      .$if(after !== null, (names) => names.having(({ fn }) => fn.min('seq'), '<', after ?? 0))
      .orderBy('first', 'desc')
      .limit(query.limit + 1)
      .execute(),
  )
  const page = firsts.slice(0, query.limit)
  const templates = await taggedTemplates(service, projectId, page)
  const counts = await buildCounts(
    service,
    projectId,
    templates.flatMap(({ rows }) => rows),
  )
  const json = templates.map((template) => presentForClients(template, counts))
  const last = page.at(-1)
  const next = firsts.length > page.length && last !== undefined ? String(last.first) : null
  return { status: 200, json, headers: pageHeaders(next) }
}

/** Returns the templates with some names, in the order of the names. */
async function taggedTemplates(
  { store }: Api,
  projectId: string,
  named: readonly { readonly name: string }[],
): Promise<readonly TaggedTemplate[]> {
  if (named.length === 0) return []
  const names = named.map(({ name }) => name)
  const rows = await store.db
    .selectFrom('templates')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('name', 'in', names)
    .orderBy('seq')
    .execute()
  const byName = Map.groupBy(rows, ({ name }) => name)
  // One may have been deleted since its name was read.
  return names.flatMap((name) => taggedOf(byName.get(name) ?? []))
}

function taggedOf(rows: readonly TemplateRow[]): readonly TaggedTemplate[] {
  const shown = rows.find(({ tag }) => presentTag(tag) === 'default') ?? rows.at(-1)
  return shown === undefined ? [] : [{ rows, shown }]
}

/** Lists all templates of the project, as the CLI asks for them. */
export async function listAllTemplates(call: ControlCall<unknown, unknown>): Promise<E2bAnswer> {
  const { headers: _, ...answer } = await listTemplatesPage({ ...call, query: { limit: 1000, nextToken: undefined } })
  return answer
}

/** Answers one template with its builds. */
export async function answerTemplate(call: ControlCall<unknown, unknown>): Promise<E2bAnswer> {
  const { service, caller, params } = call
  const shown = await findTemplateByName(service, caller.projectId, params.templateID ?? '')
  const { project_id: projectId, name } = shown
  const rows = await tagsOf(service, { projectId, name })
  const ids = rows.map(({ template_id }) => template_id)
  const builds = await service.store.db
    .selectFrom('builds')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('template_id', 'in', ids)
    .orderBy('created_at', 'desc')
    .limit(100)
    .execute()
  const counts = await buildCounts(service, projectId, rows)
  const json = {
    ...presentForClients({ rows, shown }, counts, caller.projectId),
    builds: builds.map((build) => ({
      buildID: buildUuid(build.build_id as Id<'build'>),
      status: templateStatus(build.status),
      createdAt: moment(build.created_at),
      updatedAt: moment(build.ended_at ?? build.started_at ?? build.created_at),
      ...presentSize(shown),
      envdVersion,
      ...(build.ended_at === null ? {} : { finishedAt: momentOrNull(build.ended_at) }),
    })),
  }
  return { status: 200, json }
}

/** Refuses to publish a template. Nothing here is public to other projects. */
export async function publishTemplate(call: ControlCall<z.output<typeof UpdateTemplate>, unknown>): Promise<E2bAnswer> {
  const { service, caller, params } = call
  const { name } = await findTemplateByName(service, caller.projectId, params.templateID ?? '')
  if (call.body.public === true) throw new E2bError(400, 'public: templates cannot be public in this service')
  return { status: 200, json: { names: [name] } }
}

/** Returns the number of builds of each of some templates, in one query. */
async function buildCounts(
  { store }: Api,
  projectId: string,
  rows: readonly TemplateRow[],
): Promise<ReadonlyMap<string, number>> {
  const ids = rows.map(({ template_id }) => template_id)
  if (ids.length === 0) return new Map()
  const counted = await store.db
    .selectFrom('builds')
    .select(({ fn }) => ['template_id', fn.countAll<number>().as('count')])
    .where('project_id', '=', projectId)
    .where('template_id', 'in', ids)
    .groupBy('template_id')
    .execute()
  return new Map(counted.map(({ template_id, count }) => [template_id, Number(count)]))
}

function presentForClients(
  { rows, shown: row }: TaggedTemplate,
  counts: ReadonlyMap<string, number>,
  projectId = row.project_id,
) {
  const names = rows.map(({ tag }) => (presentTag(tag) === 'default' ? row.name : `${row.name}:${presentTag(tag)}`))
  return {
    templateID: clientTemplateId(projectId, row.name),
    buildID: uuidOf(row),
    buildStatus: row.state === 'ready' ? 'ready' : row.state === 'failed' ? 'error' : 'building',
    ...presentSize(row),
    public: false,
    aliases: [row.name],
    names,
    createdAt: moment(Math.min(...rows.map(({ created_at }) => created_at))),
    updatedAt: moment(Math.max(...rows.map(({ updated_at }) => updated_at))),
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    buildCount: rows.reduce((sum, { template_id }) => sum + (counts.get(template_id) ?? 0), 0),
    envdVersion,
  }
}
