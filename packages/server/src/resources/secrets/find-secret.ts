import { type FieldIssue, type HoltError, isIdParam, type Secret } from '@holt/protocol'
import { idNotFound, nameNotFound } from '../../foundation/errors/not-found.ts'
import { foundFor } from '../../foundation/request/request-context.ts'
import { newestNames } from '../../foundation/rows/named-rows.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { SecretRow } from '../../foundation/store/tables.ts'
import { etagOf } from '../../foundation/wire/if-match.ts'

/** The purpose of the sealed value of a secret. */
export const secretPurpose = 'secret value'

/**
 * Returns a project's secret by id or name, except deleted ones. Returns undefined if there is
 * none.
 */
export async function secretOf(db: Queries, projectId: string, reference: string): Promise<SecretRow | undefined> {
  return db
    .selectFrom('secrets')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .where(isIdParam('secret_id', reference) ? 'secret_id' : 'name', '=', reference)
    .executeTakeFirst()
}

/** Returns a project's secret. A secret of another project is not found. */
export async function findSecret(db: Queries, projectId: string, reference: string): Promise<SecretRow> {
  const row = await secretOf(db, projectId, reference)
  if (row === undefined) throw await secretNotFound(db, projectId, reference)
  foundFor(reference, row.secret_id)
  return row
}

/**
 * Returns the error for a secret that a project does not have, with the fields of the request that
 * name it.
 */
export async function secretNotFound(
  db: Queries,
  projectId: string,
  reference: string,
  issues: { readonly issues?: readonly FieldIssue[] } = {},
): Promise<HoltError> {
  if (isIdParam('secret_id', reference)) return idNotFound('secret_not_found', reference, issues)
  return nameNotFound('secret_not_found', reference, () => newestNames(db, 'secrets', projectId), issues)
}

/** Returns a secret as the API shows it, without its value. */
export function presentSecret(row: SecretRow & { readonly provider_name: string | null }): Secret {
  return {
    secret_id: row.secret_id as Secret['secret_id'],
    name: row.name,
    version: row.version,
    provider:
      row.provider_id === null
        ? null
        : {
            provider_id: row.provider_id as NonNullable<Secret['provider']>['provider_id'],
            name: row.provider_name ?? '',
          },
    hosts: JSON.parse(row.hosts_json),
    header: row.header,
    format: row.format,
    env: row.inside === 1,
    env_name: row.env_name,
    etag: etagOf(row.version),
    created_at: moment(row.created_at),
    updated_at: moment(row.updated_at),
  }
}
