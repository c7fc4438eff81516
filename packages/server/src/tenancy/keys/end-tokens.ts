import { aloneWithService } from '../../foundation/store/alone.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { KeyRow } from '../../foundation/store/tables.ts'
import type { Tenancy } from '../tenancy.ts'

/** The maximum number of keys whose tokens end at once. Further ones follow at the next look. */
const maxKeys = 1000

/**
 * Ends the access tokens that E2B's clients have for the runtimes of a key. Returns the ids of
 * these runtimes.
 */
export async function endTokens(
  changes: Queries,
  { project_id, key_id }: Pick<KeyRow, 'project_id' | 'key_id'>,
): Promise<readonly string[]> {
  const ended = await changes
    .updateTable('runtimes')
    .set(({ eb }) => ({ token_generation: eb('token_generation', '+', 1) }))
    .where('project_id', '=', project_id)
    .where('made_by_key_id', '=', key_id)
    .where('ended_at', 'is', null)
    .returning('runtime_id')
    .execute()
  return ended.map(({ runtime_id }) => runtime_id)
}

/**
 * Ends the tokens of runtimes whose key has expired. After a rotation, it ends them when the former
 * secret of the key ends, because the holder of that secret may have them. Cuts connections that
 * were opened with them. Called at intervals, and once for each end. Returns the keys whose tokens
 * it has ended.
 */
export async function endDueTokens({
  config,
  store,
  visits,
  now,
}: Pick<Tenancy, 'config' | 'store' | 'visits' | 'now'>): Promise<readonly string[]> {
  if (config.e2b === null || config.e2b.keepTokens) return []
  const at = now()
  if ((await due(store.db, at).limit(1).executeTakeFirst()) === undefined) return []
  const { made, keys } = await store.change(aloneWithService, async (changes) => {
    const ended: string[] = []
    const keys = await due(changes, at).limit(maxKeys).execute()
    for (const key of keys) {
      await changes
        .updateTable('keys')
        .set({ tokens_ended_at: at })
        .where('project_id', '=', key.project_id)
        .where('key_id', '=', key.key_id)
        .execute()
      ended.push(...(await endTokens(changes, key)))
    }
    return { made: ended, keys }
  })
  for (const runtimeId of made) visits.cut(runtimeId)
  return keys.map(({ key_id }) => key_id)
}

/**
 * Cuts the connections of this host to runtimes of some keys, after another host has ended their
 * tokens.
 */
export async function cutVisitsOf(
  { store, visits }: Pick<Tenancy, 'store' | 'visits'>,
  keyIds: readonly string[],
): Promise<void> {
  const { visited } = visits
  if (visited.length === 0 || keyIds.length === 0) return
  const rows = await store.db
    .selectFrom('runtimes')
    .select('runtime_id')
    .where('runtime_id', 'in', visited)
    .where('made_by_key_id', 'in', keyIds)
    .execute()
  for (const { runtime_id } of rows) visits.cut(runtime_id)
}

/**
 * Returns the keys of all projects of which a secret has ended since their tokens ended last.
 * Revoked keys have none.
 */
function due(db: Queries, at: number) {
  return db
    .selectFrom('keys')
    .select(['project_id', 'key_id'])
    .where('revoked_at', 'is', null)
    .where(({ eb, or, and, ref }) => {
      const isNew = (column: 'expires_at' | 'previous_until') =>
        and([eb(column, '<=', at), or([eb('tokens_ended_at', 'is', null), eb('tokens_ended_at', '<', ref(column))])])
      return or([isNew('expires_at'), isNew('previous_until')])
    })
}
