import type { ListAuditQuery } from '@holt/protocol'
import { sql } from 'kysely'
import type { AuditRow } from '../../foundation/store/event-tables.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { seqBefore } from '../../foundation/store/page-cursor.ts'
import { yieldEventLoop } from '../../foundation/store/read-one-by-one.ts'
import type { Meant } from './find-meant.ts'

/** The entries that one request examines. A log has millions, and most filters have no index. */
export const examinedEntries = 20_000

/** The entries that one query examines. The event loop runs between two queries. */
const stepEntries = 2_000

/** A query, and the meaning of its `subject`. */
type Wanted = ListAuditQuery & { readonly meant?: Meant | null }

/** The result of a search. */
export interface FoundEntries {
  /** The newest first. One more than the page's limit, if there are so many. */
  readonly rows: readonly AuditRow[]
  /** The `seq` of the last examined entry if older ones were not examined. Null if all were. */
  readonly lookedTo: number | null
}

/**
 * Finds the entries of a page. If few of the examined entries match, the page is short and more
 * pages follow.
 */
export async function findEntries(
  db: Queries,
  query: Wanted,
  examined: number = examinedEntries,
): Promise<FoundEntries> {
  const start = seqBefore(query.cursor)
  if (isIndexed(query))
    return { rows: await entries(db, query, { before: start, count: query.limit + 1 }), lookedTo: null }
  const rows: AuditRow[] = []
  for (let before = start, left = examined; ; left -= stepEntries) {
    const lookedTo = await lastExamined(db, query, { before, count: Math.min(stepEntries, left) })
    rows.push(...(await entries(db, query, { before, from: lookedTo, count: query.limit + 1 - rows.length })))
    if (lookedTo === null || left <= stepEntries || rows.length > query.limit) return { rows, lookedTo }
    before = lookedTo
    await yieldEventLoop()
  }
}

interface Span {
  readonly before: number
  readonly from?: number | null
  readonly count: number
}

function entries(db: Queries, query: Wanted, { before, from = null, count }: Span): Promise<AuditRow[]> {
  let rows = reachable(db, query, before).selectAll()
  if (from !== null) rows = rows.where('seq', '>=', from)
  const { key_id, route, meant } = query
  if (query.kind !== undefined) rows = rows.where('kind', '=', query.kind)
  if (key_id !== undefined) rows = rows.where('key_id', '=', key_id)
  if (route !== undefined) rows = rows.where('route', '=', route)
  if (meant) rows = rows.where(isAbout(meant))
  // The sign keeps SQLite from the index by time, which would make it read and sort all newer
  // entries (https://sqlite.org/optoverview.html, "Disqualifying WHERE clause terms").
  if (query.since !== undefined) rows = rows.where(sql<number>`+at`, '>=', Date.parse(query.since))
  if (query.until !== undefined) rows = rows.where(sql<number>`+at`, '<', Date.parse(query.until))
  return rows.orderBy('seq', 'desc').limit(count).execute()
}

/**
 * Returns the condition that an entry is about one of the subjects, or that its path names one. A
 * call inside a runtime is about a command, below the runtime.
 */
function isAbout({ subjects, named }: Meant) {
  const inPath = subjects.map((subject) => hasText(`:${JSON.stringify(subject)}`))
  const refused = (named?.names ?? []).map(
    (name) => sql`(subject_id = ${name} AND ${hasText(`${JSON.stringify(named?.param)}:${JSON.stringify(name)}`)})`,
  )
  return sql<boolean>`(subject_id IN (${sql.join(subjects)}) OR ${sql.join([...inPath, ...refused], sql` OR `)})`
}

/**
 * Returns the condition that a path's parameters contain a text. LIKE differs between the two
 * databases.
 */
function hasText(text: string) {
  return sql`replace(params_json, ${text}, '') <> params_json`
}

/** Returns true if an index leads from each entry of a page to the next. */
function isIndexed(query: ListAuditQuery): boolean {
  const { key_id, route, subject, since, until, kind } = query
  if ([key_id, route, subject, since, until].some((filter) => filter !== undefined)) return false
  return kind === undefined || !isOfAll(query)
}

function isOfAll({ project }: ListAuditQuery): boolean {
  return project === undefined || project === 'all'
}

/** Selects the entries that an index finds. */
function reachable(db: Queries, query: ListAuditQuery, before: number) {
  const rows = db.selectFrom('audit').where('seq', '<', before)
  if (isOfAll(query)) return rows
  const ofProject = rows.where('project_id', '=', query.project ?? null)
  return query.kind === undefined ? ofProject : ofProject.where('kind', '=', query.kind)
}

async function lastExamined(db: Queries, query: ListAuditQuery, { before, count }: Span): Promise<number | null> {
  const row = await reachable(db, query, before)
    .select('seq')
    .orderBy('seq', 'desc')
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : Number(row.seq)
}
