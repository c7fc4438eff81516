import { type AuditEntry, HoltError, isIdParam } from '@holt/protocol'
import { sql } from 'kysely'
import { type Answer, answerPage, type Call, type Handlers } from '../http/call.ts'
import { findProject } from '../projects/find-project.ts'
import type { AuditRow } from '../store/event-tables.ts'
import { moment } from '../store/moment.ts'
import type { Queries } from '../store/open-store.ts'
import { encodeCursor, pageOfRows } from '../store/page-cursor.ts'
import { giveTurn, readInTurn } from '../store/read-in-turn.ts'
import { findEntries } from './read-audit.ts'

/** The route of the audit log. */
export const auditHandlers = { listAudit } satisfies Partial<Handlers>

async function listAudit({ service, caller, query, gone }: Call<'listAudit'>): Promise<Answer> {
  const { project: reference = caller.projectId } = query
  if (reference !== caller.projectId && !caller.scopes.has('operator'))
    throw new HoltError('forbidden', 'This key lacks the scope operator.', { details: { scope: 'operator' } })
  const project = await projectOf(service.store.db, reference)
  const { rows, lookedTo } = await readInTurn(service.store, { projectId: caller.projectId, gone }, async () => {
    await service.audit.flush()
    const subjects = query.subject === undefined ? [] : await idsOf(service.store.db, project, query.subject)
    return findEntries(service.store.db, { ...query, project, subjects })
  })
  const page = pageOfRows(rows, query.limit, { present, log: service.log })
  return answerPage(lookedTo === null ? page : { ...page, next_cursor: page.next_cursor ?? encodeCursor(lookedTo) })
}

/** The project that is meant by a name or an id. One that was deleted is known by its id alone, and its entries stay. */
async function projectOf(db: Queries, reference: string): Promise<string> {
  if (reference === 'all' || isIdParam('project_id', reference)) return reference
  return (await findProject(db, reference)).project_id
}

/** The tables of what has a name, and the column of its id. */
const named = [
  ['runtimes', 'runtime_id'],
  ['snapshots', 'snapshot_id'],
  ['templates', 'template_id'],
  ['policies', 'policy_id'],
  ['secrets', 'secret_id'],
  ['providers', 'provider_id'],
  ['keys', 'key_id'],
  ['projects', 'project_id'],
] as const

/** The most things of a kind that a name is taken for: the newest. */
const maxNamesakes = 20

/** What is meant by an id or a name: itself, and the ids of what has or had that name and is still known. */
async function idsOf(db: Queries, project: string, subject: string): Promise<readonly string[]> {
  const ids = [subject]
  for (const [table, id] of named) {
    const { rows } = await sql<{ id: string }>`SELECT ${sql.ref(id)} AS id FROM ${sql.table(table)}
      WHERE name = ${subject} AND ${project === 'all' ? sql`1 = 1` : sql`project_id = ${project}`}
      ORDER BY created_at DESC LIMIT ${sql.lit(maxNamesakes)}`.execute(db)
    ids.push(...rows.map((row) => row.id))
    await giveTurn()
  }
  return ids
}

function present(row: AuditRow): AuditEntry {
  return {
    audit_id: row.audit_id as AuditEntry['audit_id'],
    kind: row.kind,
    at: moment(row.at),
    project_id: row.project_id as AuditEntry['project_id'],
    key: row.key_id === null ? null : ({ key_id: row.key_id, name: row.key_name ?? '' } as AuditEntry['key']),
    address: row.address,
    route: row.route,
    params: JSON.parse(row.params_json),
    subject_id: row.subject_id,
    status: row.status,
    request_id: row.request_id,
    count: row.count,
    last_at: moment(row.last_at),
  }
}
