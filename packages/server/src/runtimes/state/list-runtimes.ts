import { type ListRuntimesQuery, metadataFilters, type Page, type Runtime } from '@holt/protocol'
import { sql } from 'kysely'
import { defaultTag } from '../../foundation/rows/template-name.ts'
import type { Queries, Store } from '../../foundation/store/open-store.ts'
import { pageOfRows } from '../../foundation/store/page-cursor.ts'
import { type Finding, type FoundPage, findPage } from '../../foundation/store/page-in-steps.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { networkFacts } from '../../resources/network/find-network.ts'
import type { Runtimes } from '../runtimes.ts'
import { hasMetadata } from './has-metadata.ts'
import { presentRuntime } from './present-runtime.ts'

/**
 * Returns a project's runtimes, newest first. `keepAnswer` reserves memory before they are read.
 */
export async function listRuntimes(
  { store, config, log, hosts }: Runtimes,
  { projectId, gone }: { readonly projectId: string; readonly gone: AbortSignal },
  { list, keepAnswer }: { readonly list: ListRuntimesQuery; readonly keepAnswer: (bytes: number) => void },
): Promise<Page<Runtime>> {
  const { seqs, bytes, nextCursor } = await findRuntimes({ store }, { projectId, gone }, list)
  if (seqs.length === 0) return { data: [], next_cursor: null }
  keepAnswer(bytes)
  const rows = await ofProject(store.db, projectId)
    .selectAll()
    .where('seq', 'in', seqs)
    .orderBy('seq', 'desc')
    .execute()
  const ids = rows.map(({ runtime_id }) => runtime_id)
  const factsOf = await networkFacts(store.db, projectId, ids)
  const present = (row: RuntimeRow) => presentRuntime(row, { config, hosts }, factsOf(row.runtime_id))
  return { data: pageOfRows(rows, rows.length, { present, log }).data, next_cursor: nextCursor }
}

/** Finds the rows of a page of a project's runtimes, newest first, and does not read them. */
export async function findRuntimes(
  { store }: Pick<Runtimes, 'store'>,
  { projectId, gone }: { readonly projectId: string; readonly gone: AbortSignal },
  list: ListRuntimesQuery,
): Promise<FoundPage> {
  return findPage(finding(store, projectId, list), { ...list, gone })
}

function ofProject(db: Queries, projectId: string) {
  return db.selectFrom('runtimes').where('project_id', '=', projectId)
}

function finding(store: Store, projectId: string, list: ListRuntimesQuery): Finding {
  const all = ofProject(store.db, projectId)
  let wanted = all
  if (list.runtime_id !== undefined) wanted = wanted.where('runtime_id', 'in', list.runtime_id)
  if (list.state !== undefined) wanted = wanted.where('state', 'in', list.state)
  if (list.name !== undefined) wanted = wanted.where('name', '=', list.name)
  if (list.isolation !== undefined) wanted = wanted.where('isolation', '=', list.isolation)
  if (list.parent !== undefined) wanted = wanted.where('parent_id', '=', list.parent)
  if (list.network_policy !== undefined)
    wanted = wanted.where('runtime_id', 'in', withPolicy(store.db, projectId, list.network_policy))
  if (list.secret !== undefined) wanted = wanted.where('runtime_id', 'in', withSecret(store.db, projectId, list.secret))
  if (list.snapshot !== undefined)
    wanted = wanted.where('snapshot_id', 'in', snapshotsNamed(store.db, projectId, list.snapshot))
  if (list.template !== undefined) {
    const name = withoutDefaultTag(list.template)
    wanted = wanted.where(({ eb, or }) => or([eb('template_name', '=', name), eb('template_id', '=', name)]))
  }
  for (const [key, value] of metadataFilters(list)) wanted = wanted.where(hasMetadata(store, key, value))
  const reach = async (before: number, count: number) => {
    const rows = all.select('seq').where('seq', '<', before).orderBy('seq', 'desc')
    const row = await rows
      .offset(count - 1)
      .limit(1)
      .executeTakeFirst()
    return row === undefined ? null : Number(row.seq)
  }
  return {
    ...(wanted === all ? {} : { reach }),
    find: async ({ before, from }, count) => {
      const rows = await wanted
        .select(['seq', sizeOfTexts.as('bytes')])
        .where('seq', '<', before)
        .where('seq', '>=', from)
        .orderBy('seq', 'desc')
        .limit(count)
        .execute()
      return rows.map(({ seq, bytes }) => ({ seq: Number(seq), bytes: Number(bytes) }))
    },
  }
}

/** Selects the runtimes of a project with a stored network policy, by its name or id. */
function withPolicy(db: Queries, projectId: string, policy: string) {
  return db
    .selectFrom('runtime_networks')
    .innerJoin('policies', 'policies.policy_id', 'runtime_networks.policy_id')
    .select('runtime_networks.runtime_id')
    .where('runtime_networks.project_id', '=', projectId)
    .where('policies.project_id', '=', projectId)
    .where(({ eb, or }) => or([eb('policies.name', '=', policy), eb('policies.policy_id', '=', policy)]))
}

/** Selects the runtimes of a project with a secret, by its name or id. A deleted one has none. */
function withSecret(db: Queries, projectId: string, secret: string) {
  return db
    .selectFrom('runtime_secrets')
    .innerJoin('secrets', 'secrets.secret_id', 'runtime_secrets.secret_id')
    .select('runtime_secrets.runtime_id')
    .where('runtime_secrets.project_id', '=', projectId)
    .where('secrets.project_id', '=', projectId)
    .where('secrets.deleted_at', 'is', null)
    .where(({ eb, or }) => or([eb('secrets.name', '=', secret), eb('secrets.secret_id', '=', secret)]))
}

/** Selects the ids of the snapshots of a project with a name or an id. */
function snapshotsNamed(db: Queries, projectId: string, snapshot: string) {
  return db
    .selectFrom('snapshots')
    .select('snapshot_id')
    .where('project_id', '=', projectId)
    .where(({ eb, or }) => or([eb('name', '=', snapshot), eb('snapshot_id', '=', snapshot)]))
}

/**
 * The bytes of a row's large texts. SQLite knows them without reading the texts
 * (https://sqlite.org/lang_corefunc.html#octet_length).
 */
const sizeOfTexts = sql<number>`octet_length(env_json) + octet_length(metadata_json)`

/**
 * Returns a template's name as in rows, without the default tag. A reference with another tag is
 * unchanged, and matches no row.
 */
function withoutDefaultTag(reference: string): string {
  const suffix = `:${defaultTag}`
  return reference.endsWith(suffix) ? reference.slice(0, -suffix.length) : reference
}
