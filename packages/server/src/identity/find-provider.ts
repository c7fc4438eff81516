import { HoltError, isIdParam, type ProviderSettings } from '@holt/protocol'
import { foundFor } from '../events/acting.ts'
import type { Queries } from '../store/open-store.ts'
import type { ProviderRow } from '../store/tables.ts'

/** What is secret of a provider is stored as. */
export const providerPurpose = 'provider credential'

/** A project's identity provider, by id or name. One of another project is the same as none. */
export async function findProvider(db: Queries, projectId: string, reference: string): Promise<ProviderRow> {
  const row = await db
    .selectFrom('providers')
    .selectAll()
    .where('project_id', '=', projectId)
    .where(isIdParam('provider_id', reference) ? 'provider_id' : 'name', '=', reference)
    .executeTakeFirst()
  if (row === undefined) throw new HoltError('provider_not_found', 'There is no such identity provider.')
  foundFor(reference, row.provider_id)
  return row
}

/** What of a provider is no secret. */
export function settingsOf({ settings_json }: Pick<ProviderRow, 'settings_json'>): ProviderSettings {
  return JSON.parse(settings_json)
}
