import { inspectionOf, makeEffectivePolicy } from '@holt/egress'
import { type HoltError, isIdParam, type Policy, type PolicyBody, type PolicyContent } from '@holt/protocol'
import { idNotFound, nameNotFound } from '../../foundation/errors/not-found.ts'
import { foundFor } from '../../foundation/request/request-context.ts'
import { newestNames } from '../../foundation/rows/named-rows.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { PolicyRow } from '../../foundation/store/tables.ts'
import { etagOf } from '../../foundation/wire/if-match.ts'

/** Returns a project's policy by id or name. A policy of another project is not found. */
export async function findPolicy(db: Queries, projectId: string, reference: string): Promise<PolicyRow> {
  const row = await db
    .selectFrom('policies')
    .selectAll()
    .where('project_id', '=', projectId)
    .where(isIdParam('policy_id', reference) ? 'policy_id' : 'name', '=', reference)
    .executeTakeFirst()
  if (row === undefined) throw await notFound(db, projectId, reference)
  foundFor(reference, row.policy_id)
  return row
}

/** Returns the content of a stored policy. */
export function bodyOf({ body_json }: Pick<PolicyRow, 'body_json'>): PolicyBody {
  return readBody(body_json)
}

/** Reads a stored policy. One of an earlier version has no denied networks. */
export function readBody(json: string): PolicyBody {
  return { deny: [], ...JSON.parse(json) }
}

/** Returns the JSON of the stored part of a policy's request. */
export function bodyText({ allow, include, allow_all_hosts, deny }: PolicyBody): string {
  return JSON.stringify({ allow, include: [...new Set(include)], allow_all_hosts, deny } satisfies PolicyBody)
}

/**
 * Returns a policy with the traffic that the gateway can inspect, and the secrets that it inserts
 * there.
 */
export function contentOf(
  body: PolicyBody,
  secrets: readonly { readonly name: string; readonly hosts: readonly string[] }[] = [],
): PolicyContent {
  const inspection = inspectionOf(makeEffectivePolicy(body), secrets).map((entry) => ({
    ...entry,
    ports: [...entry.ports],
    secrets: [...entry.secrets],
  }))
  const { allow, include, allow_all_hosts, deny } = body
  return { allow, include, allow_all_hosts, deny, inspection }
}

/** Returns a stored policy as the API shows it. */
export function presentPolicy(row: PolicyRow): Policy {
  return {
    policy_id: row.policy_id as Policy['policy_id'],
    name: row.name,
    ...contentOf(bodyOf(row)),
    revision: row.revision,
    etag: etagOf(row.revision),
    created_at: moment(row.created_at),
    updated_at: moment(row.updated_at),
  }
}

async function notFound(db: Queries, projectId: string, reference: string): Promise<HoltError> {
  if (isIdParam('policy_id', reference)) return idNotFound('policy_not_found', reference)
  return nameNotFound('policy_not_found', reference, () => newestNames(db, 'policies', projectId))
}
