import type { ListAuditQuery } from '@holt/protocol'
import { sql } from 'kysely'
import type { AuditRow } from '../store/event-tables.ts'
import type { Queries } from '../store/open-store.ts'
import { seqBefore } from '../store/page-cursor.ts'

/** How many entries one request looks at: a log has millions, SQLite is read while nothing else runs, and most filters have no index. */
export const examinedEntries = 20_000

/** Which entries. `subjects` are the ids, or what else stands in paths, of what `subject` means. */
type Wanted = ListAuditQuery & { readonly subjects?: readonly string[] }

/** What was found. */
export interface FoundEntries {
  /** The newest first, one more than the page's limit where there are so many. */
  readonly rows: readonly AuditRow[]
  /** The `seq` of the last entry that was looked at, where older ones were not; null where everything was. */
  readonly lookedTo: number | null
}

/** Finds the entries of a page. Where filters leave few of those that were looked at, it is a short page with more behind it. */
export async function findEntries(
  db: Queries,
  query: Wanted,
  examined: number = examinedEntries,
): Promise<FoundEntries> {
  const lookedTo = isIndexed(query) ? null : await lastExamined(db, query, examined)
  let rows = reachable(db, query).selectAll()
  if (lookedTo !== null) rows = rows.where('seq', '>=', lookedTo)
  const { key_id, route, subject, subjects = subject === undefined ? [] : [subject] } = query
  if (query.kind !== undefined) rows = rows.where('kind', '=', query.kind)
  if (key_id !== undefined) rows = rows.where('key_id', '=', key_id)
  if (route !== undefined) rows = rows.where('route', '=', route)
  if (subjects.length > 0) rows = rows.where(isAbout(subjects))
  // The sign keeps SQLite from the index by time, which would have it read and sort all that is newer (https://sqlite.org/optoverview.html, "Disqualifying WHERE clause terms").
  if (query.since !== undefined) rows = rows.where(sql<number>`+at`, '>=', Date.parse(query.since))
  if (query.until !== undefined) rows = rows.where(sql<number>`+at`, '<', Date.parse(query.until))
  return {
    rows: await rows
      .orderBy('seq', 'desc')
      .limit(query.limit + 1)
      .execute(),
    lookedTo,
  }
}

/** Whether an entry is about one of these, or its path names one: what was done inside a runtime is about a command, below the runtime. */
function isAbout(subjects: readonly string[]) {
  // LIKE is not the same in both databases.
  const named = subjects.map(
    (subject) => sql`replace(params_json, ${`:${JSON.stringify(subject)}`}, '') <> params_json`,
  )
  return sql<boolean>`(subject_id IN (${sql.join(subjects)}) OR ${sql.join(named, sql` OR `)})`
}

/** Whether an index leads from each entry of a page to the next. */
function isIndexed(query: ListAuditQuery): boolean {
  const { key_id, route, subject, since, until, kind } = query
  if ([key_id, route, subject, since, until].some((filter) => filter !== undefined)) return false
  return kind === undefined || !isOfAll(query)
}

function isOfAll({ project }: ListAuditQuery): boolean {
  return project === undefined || project === 'all'
}

/** The entries that an index leads to. */
function reachable(db: Queries, query: ListAuditQuery) {
  const rows = db.selectFrom('audit').where('seq', '<', seqBefore(query.cursor))
  if (isOfAll(query)) return rows
  const ofProject = rows.where('project_id', '=', query.project ?? null)
  return query.kind === undefined ? ofProject : ofProject.where('kind', '=', query.kind)
}

async function lastExamined(db: Queries, query: ListAuditQuery, examined: number): Promise<number | null> {
  const row = await reachable(db, query)
    .select('seq')
    .orderBy('seq', 'desc')
    .offset(examined - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : Number(row.seq)
}
