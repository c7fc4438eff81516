import type { Queries } from '../../foundation/store/open-store.ts'
import { credentialName } from './open-streams.ts'

/** Returns those of some keys that this service has or had. */
export async function knownKeys(db: Queries, keyIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom('keys').select('key_id').where('key_id', 'in', keyIds).execute()
  return new Set(rows.map(({ key_id }) => key_id))
}

/** Returns the valid credentials of some keys, in the form of `credentialName`. */
export async function validCredentials(
  db: Queries,
  keyIds: readonly string[],
  now: number,
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('known_keys')
    .select(['key_id', 'version', 'previous_until'])
    .where('key_id', 'in', keyIds)
    .where('revoked_at', 'is', null)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .execute()
  return new Set(
    rows.flatMap(({ key_id: keyId, version, previous_until }) => [
      credentialName({ keyId, keyVersion: version }),
      ...(previous_until !== null && previous_until > now ? [credentialName({ keyId, keyVersion: version - 1 })] : []),
    ]),
  )
}
