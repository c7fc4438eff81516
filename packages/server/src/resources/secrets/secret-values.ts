import type { SealedValues } from '../../foundation/sealing/sealed-values.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { SecretRow } from '../../foundation/store/tables.ts'
import { findProvider, providerPurpose, settingsOf } from '../identity/find-provider.ts'
import type { OAuthTokens } from '../identity/oauth-tokens.ts'
import type { Subject, WorkloadTokens } from '../identity/workload-tokens.ts'
import { secretPurpose } from './find-secret.ts'

/** The current value of a secret. */
interface SecretValue {
  readonly value: string
  readonly version: number
}

/**
 * Returns the current value of a secret for one runtime. It is read for each use, so that a new
 * version or a deletion applies to the next request. Resolves with null if the secret was deleted.
 * Rejects if a provider fails.
 */
export type ReadSecretValue = (secretId: string, subject: Subject) => Promise<SecretValue | null>

/** The sources of values. */
export interface ValueSources {
  readonly store: Store
  readonly sealedValues: SealedValues
  readonly oauthTokens: OAuthTokens
  readonly workloadTokens: WorkloadTokens
}

/** Returns the values of secrets from the store of this host, as its master keys open them. */
export function storedSecretValues(sources: ValueSources): ReadSecretValue {
  return (secretId, subject) => storedSecretValue(sources, secretId, subject)
}

async function storedSecretValue(
  sources: ValueSources,
  secretId: string,
  subject: Subject,
): Promise<SecretValue | null> {
  const { store, sealedValues } = sources
  const row = await store.db
    .selectFrom('secrets')
    .selectAll()
    .where('project_id', '=', subject.projectId)
    .where('secret_id', '=', secretId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (row === undefined) return null
  const owner = { projectId: row.project_id, ownerId: row.secret_id, purpose: secretPurpose }
  const value =
    row.provider_id === null
      ? await sealedValues.read(store.db, owner)
      : await providedValue(sources, row.provider_id, subject)
  return value === null ? null : { value, version: row.version }
}

async function providedValue(
  { store, sealedValues, oauthTokens, workloadTokens }: ValueSources,
  providerId: NonNullable<SecretRow['provider_id']>,
  subject: Subject,
): Promise<string | null> {
  const provider = await findProvider(store.db, subject.projectId, providerId)
  const settings = settingsOf(provider)
  const { version } = provider
  if (settings.type === 'workload') return workloadTokens.token({ providerId, version, settings }, subject)
  const owner = { projectId: provider.project_id, ownerId: providerId, purpose: providerPurpose }
  const credential = await sealedValues.read(store.db, owner)
  if (credential === null || settings.type === 'static') return credential
  return oauthTokens.token({ providerId, version, settings, clientSecret: credential })
}
