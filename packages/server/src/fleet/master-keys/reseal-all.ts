import type { Log } from '../../foundation/log.ts'
import type { MasterKeys } from '../../foundation/sealing/master-keys.ts'
import { logLost, resealRows } from '../../foundation/sealing/reseal-rows.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Queries, Store } from '../../foundation/store/open-store.ts'
import type { SealedValueRow } from '../../foundation/store/tables.ts'

/** The values that one change seals again. */
const rowsAtOnce = 200

/** The parts that seal values again. */
interface ResealParts {
  readonly store: Store
  readonly masterKeys: MasterKeys
  readonly log: Log
}

/** Returns true if a value is sealed with another key than the one that seals now. */
export async function hasOlder({ store, masterKeys }: Pick<ResealParts, 'store' | 'masterKeys'>): Promise<boolean> {
  const row = await store.db
    .selectFrom('sealed_values')
    .select('owner_id')
    .where('master_key_id', '!=', masterKeys.currentId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Seals all values of older keys with the key that seals now, some in each change. The values of
 * the fleet come first: a host without the key then fails at its start. Returns the number of
 * values. All hosts must seal with that key.
 */
export async function resealAll({ store, masterKeys, log }: ResealParts): Promise<number> {
  // A change under way may have sealed with an older key.
  await store.changesEnded()
  let count = 0
  for (const isOfFleet of [true, false]) {
    let last: SealedValueRow | undefined
    do {
      const rows = await olderRows(store.db, { keyId: masterKeys.currentId, isOfFleet, after: last })
      const { resealed, lost } = await store.change(aloneWithRow, (changes) => resealRows(changes, masterKeys, rows))
      logLost(log, lost)
      count += resealed
      last = rows.at(-1)
    } while (last !== undefined)
  }
  return count
}

function olderRows(
  db: Queries,
  {
    keyId,
    isOfFleet,
    after,
  }: { readonly keyId: string; readonly isOfFleet: boolean; readonly after: SealedValueRow | undefined },
): Promise<SealedValueRow[]> {
  const older = db
    .selectFrom('sealed_values')
    .selectAll()
    .where('master_key_id', '!=', keyId)
    .where('project_id', isOfFleet ? 'is' : 'is not', null)
    .orderBy('owner_id')
    .orderBy('purpose')
    .limit(rowsAtOnce)
  if (after === undefined) return older.execute()
  const { owner_id: ownerId, purpose } = after
  return older
    .where(({ or, and, eb }) =>
      or([eb('owner_id', '>', ownerId), and([eb('owner_id', '=', ownerId), eb('purpose', '>', purpose)])]),
    )
    .execute()
}
