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
import { presentSize } from '../sandbox/present-size.ts'
import type { ControlCall } from './control-call.ts'
import { findTemplateByName } from './find-by-name.ts'
import { pageHeaders } from './list-sandboxes.ts'
import { uuidOf } from './template-tags.ts'

type ListCall = ControlCall<unknown, z.output<typeof ListTemplates>>

/** Lists the templates of the project, newest first, one page at a time. */
export async function listTemplatesPage(call: ListCall): Promise<E2bAnswer> {
  const { service, caller, query } = call
  const after = query.nextToken === undefined ? null : Number(query.nextToken)
  if (after !== null && !Number.isSafeInteger(after)) throw new E2bError(400, 'nextToken is not one of this list')
  const { projectId } = caller
  const rows = await readOneByOne(service, { projectId, gone: call.gone }, () =>
    service.store.db
      .selectFrom('templates')
      .selectAll()
      .where('project_id', '=', projectId)
      .$if(after !== null, (rows) => rows.where('seq', '<', after ?? 0))
      .orderBy('seq', 'desc')
      .limit(query.limit + 1)
      .execute(),
  )
  const page = rows.slice(0, query.limit)
  const counts = await buildCounts(service, projectId, page)
  const json = page.map((row) => presentForClients(row, counts.get(row.template_id) ?? 0))
  const last = page.at(-1)
  const next = rows.length > page.length && last !== undefined ? String(last.seq) : null
  return { status: 200, json, headers: pageHeaders(next) }
}

/** Lists all templates of the project, as the CLI asks for them. */
export async function listAllTemplates(call: ControlCall<unknown, unknown>): Promise<E2bAnswer> {
  const { headers: _, ...answer } = await listTemplatesPage({ ...call, query: { limit: 1000, nextToken: undefined } })
  return answer
}

/** Answers one template with its builds. */
export async function answerTemplate(call: ControlCall<unknown, unknown>): Promise<E2bAnswer> {
  const { service, caller, params } = call
  const row = await findTemplateByName(service, caller.projectId, params.templateID ?? '')
  const { project_id: projectId, template_id } = row
  const builds = await service.store.db
    .selectFrom('builds')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('template_id', '=', template_id)
    .orderBy('created_at', 'desc')
    .limit(100)
    .execute()
  const counts = await buildCounts(service, projectId, [row])
  const json = {
    ...presentForClients(row, counts.get(template_id) ?? 0),
    builds: builds.map((build) => ({
      buildID: buildUuid(build.build_id as Id<'build'>),
      status: templateStatus(build.status),
      createdAt: moment(build.created_at),
      updatedAt: moment(build.ended_at ?? build.started_at ?? build.created_at),
      ...presentSize(row),
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

function presentForClients(row: TemplateRow, buildCount: number) {
  const name = presentTag(row.tag) === 'default' ? row.name : `${row.name}:${presentTag(row.tag)}`
  return {
    templateID: row.template_id,
    buildID: uuidOf(row),
    buildStatus: row.state === 'ready' ? 'ready' : row.state === 'failed' ? 'error' : 'building',
    ...presentSize(row),
    public: false,
    aliases: [row.name],
    names: [name],
    createdAt: moment(row.created_at),
    updatedAt: moment(row.updated_at),
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    buildCount,
    envdVersion,
  }
}
