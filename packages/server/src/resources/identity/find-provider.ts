import { type HoltError, isIdParam, type ProviderSettings } from '@holt/protocol'
import { idNotFound, nameNotFound } from '../../foundation/errors/not-found.ts'
import { foundFor } from '../../foundation/request/request-context.ts'
import { newestNames } from '../../foundation/rows/named-rows.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { ProviderRow } from '../../foundation/store/tables.ts'

/** The purpose that is authenticated with the sealed credential of a provider. */
export const providerPurpose = 'provider credential'

/**
 * Returns a project's identity provider by id or name. A provider of another project is not found.
 */
export async function findProvider(db: Queries, projectId: string, reference: string): Promise<ProviderRow> {
  const row = await db
    .selectFrom('providers')
    .selectAll()
    .where('project_id', '=', projectId)
    .where(isIdParam('provider_id', reference) ? 'provider_id' : 'name', '=', reference)
    .executeTakeFirst()
  if (row === undefined) throw await notFound(db, projectId, reference)
  foundFor(reference, row.provider_id)
  return row
}

/** Returns the public settings of a provider. */
export function settingsOf({ settings_json }: Pick<ProviderRow, 'settings_json'>): ProviderSettings {
  return JSON.parse(settings_json)
}

async function notFound(db: Queries, projectId: string, reference: string): Promise<HoltError> {
  if (isIdParam('provider_id', reference)) return idNotFound('provider_not_found', reference)
  return nameNotFound('provider_not_found', reference, () => newestNames(db, 'providers', projectId))
}
