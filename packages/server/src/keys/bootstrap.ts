import { makeId, type Scope } from '@holt/protocol'
import { digestOf, makeSecret, prefixOf } from '../auth/key-secret.ts'
import type { Store } from '../store/open-store.ts'

/** The name of the project that is there from the start. */
export const defaultProject = 'default'

/** What the key of this machine may do: everything. */
const machineScopes: readonly Scope[] = ['admin', 'operator']

/** Makes the default project where it is missing, and answers its id. */
export async function ensureDefaultProject({ db }: Store, now: number): Promise<string> {
  await db
    .insertInto('projects')
    .values({ project_id: makeId('project'), name: defaultProject, created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const row = await db
    .selectFrom('projects')
    .select('project_id')
    .where('name', '=', defaultProject)
    .executeTakeFirstOrThrow()
  return row.project_id
}

/**
 * The key of this machine: the one at hand if it still opens everything, else a new one. So whoever has lost the last key of an operator removes `credentials.json` and starts
 * the service again.
 */
export async function ensureAdminKey(
  { db }: Store,
  { projectId, known, now }: { projectId: string; known: string | null; now: number },
): Promise<string> {
  if (known !== null) {
    const row = await db
      .selectFrom('keys')
      .select('scopes_json')
      .where('project_id', '=', projectId)
      .where('digest', '=', digestOf(known))
      .where('revoked_at', 'is', null)
      .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
      .executeTakeFirst()
    const scopes: readonly Scope[] = row === undefined ? [] : JSON.parse(row.scopes_json)
    if (machineScopes.every((scope) => scopes.includes(scope))) return known
  }
  const secret = makeSecret()
  await db
    .insertInto('keys')
    .values({
      key_id: makeId('key'),
      project_id: projectId,
      name: 'admin of this machine',
      prefix: prefixOf(secret),
      digest: digestOf(secret),
      scopes_json: JSON.stringify(machineScopes),
      expires_at: null,
      revoked_at: null,
      created_at: now,
      last_used_at: null,
    })
    .execute()
  return secret
}
