import type { Isolation, Page, Runtime, RuntimeState } from '@holt/protocol'
import { sql } from 'kysely'
import { invalidField } from '../http/field-issues.ts'
import type { Service } from '../service.ts'
import { pageOfRows, seqBefore } from '../store/page-cursor.ts'
import { presentRuntime } from './present-runtime.ts'

/** A page of runtimes as asked for. Fields named `metadata.KEY` filter by label. */
export interface RuntimeList {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly state?: RuntimeState | undefined
  readonly template?: string | undefined
  readonly name?: string | undefined
  readonly isolation?: Isolation | undefined
  readonly [field: string]: unknown
}

const knownFields: ReadonlySet<string> = new Set(['limit', 'cursor', 'state', 'template', 'name', 'isolation'])
const metadataField = /^metadata\.([A-Za-z0-9_./-]{1,128})$/

/** A project's runtimes, newest first. */
export async function listRuntimes(
  { store, config }: Service,
  projectId: string,
  list: RuntimeList,
): Promise<Page<Runtime>> {
  const labels = labelsOf(list)
  let query = store.db
    .selectFrom('runtimes')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('seq', '<', seqBefore(list.cursor))
    .orderBy('seq', 'desc')
    .limit(list.limit + 1)
  if (list.state !== undefined) query = query.where('state', '=', list.state)
  if (list.name !== undefined) query = query.where('name', '=', list.name)
  if (list.isolation !== undefined) query = query.where('isolation', '=', list.isolation)
  if (list.template !== undefined) {
    const [name = ''] = list.template.split(':latest', 1)
    query = query.where(({ eb, or }) => or([eb('template_name', '=', name), eb('template_id', '=', name)]))
  }
  for (const [key, value] of labels)
    query = query.where(sql<boolean>`json_extract(metadata_json, ${`$."${key}"`}) = ${value}`)
  return pageOfRows(await query.execute(), list.limit, (row) => presentRuntime(row, config))
}

/** The label filters; any other field that is not known is refused. */
function labelsOf(list: RuntimeList): readonly (readonly [string, string])[] {
  return Object.entries(list).flatMap(([field, value]) => {
    if (knownFields.has(field)) return []
    const key = metadataField.exec(field)?.[1]
    const pointer = `/query/${field.replaceAll('~', '~0').replaceAll('/', '~1').slice(0, 200)}`
    if (key === undefined)
      throw invalidField(
        pointer,
        field.startsWith('metadata.') ? 'is not a valid metadata key' : 'is not a known field',
      )
    const values = Array.isArray(value) ? value : [value]
    return values.map((text) => [key, String(text)] as const)
  })
}
