import { type ListRuntimesQuery, metadataFilters, type Page, type Runtime } from '@holt/protocol'
import { type SqlBool, sql } from 'kysely'
import { networkFacts } from '../network/find-network.ts'
import type { Service } from '../service.ts'
import { pageOfRows, seqBefore } from '../store/page-cursor.ts'
import { defaultTag } from '../templates/find-template.ts'
import { presentRuntime } from './present-runtime.ts'

/** A project's runtimes, newest first. */
export async function listRuntimes(
  { store, config, log }: Service,
  projectId: string,
  list: ListRuntimesQuery,
): Promise<Page<Runtime>> {
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
    const name = withoutDefaultTag(list.template)
    query = query.where(({ eb, or }) => or([eb('template_name', '=', name), eb('template_id', '=', name)]))
  }
  for (const [key, value] of metadataFilters(list)) query = query.where(hasMetadata(key, value))
  const rows = await query.execute()
  const factsOf = await networkFacts(
    store.db,
    projectId,
    rows.map(({ runtime_id }) => runtime_id),
  )
  return pageOfRows(rows, list.limit, { present: (row) => presentRuntime(row, config, factsOf(row.runtime_id)), log })
}

/** A template's name as rows have it. A reference with any other tag stays as it is, and no row has that name. */
function withoutDefaultTag(reference: string): string {
  const suffix = `:${defaultTag}`
  return reference.endsWith(suffix) ? reference.slice(0, -suffix.length) : reference
}

/**
 * The condition for rows whose metadata has a key with a value. Metadata is a flat object of texts, written by `JSON.stringify`, and a quote within a text is escaped there:
 * so `"key":"value"` occurs in it just where it is an entry. `replace` compares byte by byte in every database, which `LIKE` does not.
 */
function hasMetadata(key: string, value: string) {
  const entry = `${JSON.stringify(key)}:${JSON.stringify(value)}`
  return sql<SqlBool>`replace(metadata_json, ${entry}, '') <> metadata_json`
}
