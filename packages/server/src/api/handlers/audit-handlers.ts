import { type AuditEntry, HoltError, isIdParam } from '@holt/protocol'
import type { AuditRow } from '../../foundation/store/event-tables.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { encodeCursor, pageOfRows } from '../../foundation/store/page-cursor.ts'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import { type Answer, answerPage, type Call } from '../../foundation/wire/call.ts'
import { findMeant } from '../../tenancy/audit/find-meant.ts'
import { findEntries } from '../../tenancy/audit/read-audit.ts'
import { findProject } from '../../tenancy/projects/find-project.ts'
import type { Api, Handlers } from '../api.ts'

/** The route of the audit log. */
export const auditHandlers = { listAudit } satisfies Partial<Handlers>

async function listAudit({ service, caller, query, gone }: Call<'listAudit', Api>): Promise<Answer> {
  const { project: reference = caller.projectId } = query
  if (reference !== caller.projectId && !caller.scopes.has('operator'))
    throw new HoltError('forbidden', 'This key lacks the scope operator.', { details: { scope: 'operator' } })
  const project = await projectOf(service.store.db, reference)
  const { rows, lookedTo } = await readOneByOne(service, { projectId: caller.projectId, gone }, async () => {
    await service.audit.flush()
    const known = { project, isOperator: caller.scopes.has('operator') }
    const meant = query.subject === undefined ? null : await findMeant(service.store.db, known, query.subject)
    return findEntries(service.store.db, { ...query, project, meant })
  })
  const page = pageOfRows(rows, query.limit, { present, log: service.log })
  return answerPage(lookedTo === null ? page : { ...page, next_cursor: page.next_cursor ?? encodeCursor(lookedTo) })
}

/**
 * Returns the id of the project with a name or an id. A deleted project is known by its id alone,
 * and its entries stay.
 */
async function projectOf(db: Queries, reference: string): Promise<string> {
  if (reference === 'all' || isIdParam('project_id', reference)) return reference
  return (await findProject(db, reference)).project_id
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
