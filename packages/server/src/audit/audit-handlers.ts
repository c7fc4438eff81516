import { type AuditEntry, HoltError, type ListAuditQuery } from '@holt/protocol'
import { type Answer, answerPage, type Call, type Handlers } from '../http/call.ts'
import type { AuditRow } from '../store/event-tables.ts'
import { moment } from '../store/moment.ts'
import type { Queries } from '../store/open-store.ts'
import { pageOfRows, seqBefore } from '../store/page-cursor.ts'

/** The route of the audit log. */
export const auditHandlers = { listAudit } satisfies Partial<Handlers>

async function listAudit({ service, caller, query }: Call<'listAudit'>): Promise<Answer> {
  const { project = caller.projectId } = query
  if (project !== caller.projectId && !caller.scopes.has('operator'))
    throw new HoltError('forbidden', 'This key lacks the scope operator.', { details: { scope: 'operator' } })
  await service.audit.flush()
  const rows = await matching(service.store.db, { ...query, project })
    .where('seq', '<', seqBefore(query.cursor))
    .orderBy('seq', 'desc')
    .limit(query.limit + 1)
    .execute()
  return answerPage(pageOfRows(rows, query.limit, { present, log: service.log }))
}

function matching(db: Queries, { project, kind, key_id, route, subject, since, until }: ListAuditQuery) {
  let rows = db.selectFrom('audit').selectAll()
  if (project !== undefined && project !== 'all') rows = rows.where('project_id', '=', project)
  if (kind !== undefined) rows = rows.where('kind', '=', kind)
  if (key_id !== undefined) rows = rows.where('key_id', '=', key_id)
  if (route !== undefined) rows = rows.where('route', '=', route)
  if (subject !== undefined) rows = rows.where('subject_id', '=', subject)
  if (since !== undefined) rows = rows.where('at', '>=', Date.parse(since))
  if (until !== undefined) rows = rows.where('at', '<', Date.parse(until))
  return rows
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
