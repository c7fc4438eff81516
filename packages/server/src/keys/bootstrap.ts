import { makeId } from '@holt/protocol'
import { digestOf, makeSecret, prefixOf } from '../auth/key-secret.ts'
import type { Store } from '../store/open-store.ts'

/** The one project there is until there are more. */
const defaultProject = 'default'

/** Makes the default project where it is missing, and answers its id. */
export async function ensureDefaultProject({ db }: Store, now: number): Promise<string> {
  await db
    .insertInto('projects')
    .values({ project_id: makeId('project'), name: defaultProject, created_at: now })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const row = await db
    .selectFrom('projects')
    .select('project_id')
    .where('name', '=', defaultProject)
    .executeTakeFirstOrThrow()
  return row.project_id
}

/** The admin key of this machine: the one at hand if it still opens the service, else a new one. */
export async function ensureAdminKey(
  { db }: Store,
  { projectId, known, now }: { projectId: string; known: string | null; now: number },
): Promise<string> {
  if (known !== null) {
    const row = await db
      .selectFrom('keys')
      .select('key_id')
      .where('project_id', '=', projectId)
      .where('digest', '=', digestOf(known))
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    if (row !== undefined) return known
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
      scopes_json: JSON.stringify(['admin']),
      expires_at: null,
      revoked_at: null,
      created_at: now,
      last_used_at: null,
    })
    .execute()
  return secret
}
