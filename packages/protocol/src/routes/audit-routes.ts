import { AuditEntry, ListAuditQuery } from '../audit.ts'
import { pageOf } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, none } from './parts.ts'

/** The routes of the audit log. */
export const auditRoutes = {
  listAudit: {
    method: 'GET',
    path: '/v1/agents/audit',
    runsOn: 'entry',
    summary: 'List who did what, with which key, from where',
    description:
      'The log has every call that changes something, and calls without a valid key. It has no bodies or secrets, and no route changes it. Entries are kept for 400 days.',
    scope: 'admin',
    query: ListAuditQuery,
    body: none,
    answers: { 200: answer(pageOf(AuditEntry).meta({ id: 'AuditPage' }), 'A page of entries, newest first.') },
    errors: ['project_not_found'],
  },
} as const satisfies Record<string, Route>
