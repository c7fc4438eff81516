import type { Queries } from '../store/open-store.ts'
import type { SealedValueRow } from '../store/tables.ts'
import type { MasterKeys, SealedFor } from './master-keys.ts'

/**
 * Seals a value and stores it in place of the owner's earlier one. `db` is the transaction of the
 * change.
 */
export async function putSealed(
  db: Queries,
  masterKeys: MasterKeys,
  { value, ...owner }: SealedFor & { readonly value: string },
): Promise<void> {
  const { masterKeyId, text } = masterKeys.seal(value, owner)
  const row = {
    owner_id: owner.ownerId,
    purpose: owner.purpose,
    project_id: owner.projectId,
    version: owner.version,
    master_key_id: masterKeyId,
    sealed: text,
  }
  await db
    .insertInto('sealed_values')
    .values(row)
    .onConflict((conflict) => conflict.columns(['owner_id', 'purpose']).doUpdateSet(row))
    .execute()
}

/** Seals a stored value with the newest key, unless another value has replaced it meanwhile. */
export async function resealValue(
  db: Queries,
  masterKeys: MasterKeys,
  { row, value }: { readonly row: SealedValueRow; readonly value: string },
): Promise<void> {
  const { owner_id: ownerId, purpose, project_id: projectId, version } = row
  const { masterKeyId, text } = masterKeys.seal(value, { ownerId, purpose, projectId, version })
  await db
    .updateTable('sealed_values')
    .set({ master_key_id: masterKeyId, sealed: text })
    .where('project_id', projectId === null ? 'is' : '=', projectId)
    .where('owner_id', '=', ownerId)
    .where('purpose', '=', purpose)
    .where('sealed', '=', row.sealed)
    .execute()
}

/** Returns the value of an owner, or null if there is none. */
export async function readSealed(
  db: Queries,
  masterKeys: MasterKeys,
  owner: Omit<SealedFor, 'version'>,
): Promise<string | null> {
  const found = await findSealed(db, masterKeys, owner)
  return found === null ? null : found.open()
}

/**
 * Returns the sealed value of an owner, or null if there is none. A failed read is thus different
 * from a value that does not open. Only `open` throws for a value that is damaged, or sealed with
 * another key.
 */
export async function findSealed(
  db: Queries,
  masterKeys: MasterKeys,
  { projectId, ownerId, purpose }: Omit<SealedFor, 'version'>,
): Promise<{ open(): string } | null> {
  const row = await db
    .selectFrom('sealed_values')
    .selectAll()
    .where('project_id', projectId === null ? 'is' : '=', projectId)
    .where('owner_id', '=', ownerId)
    .where('purpose', '=', purpose)
    .executeTakeFirst()
  if (row === undefined) return null
  const sealed = { masterKeyId: row.master_key_id, text: row.sealed }
  return { open: () => masterKeys.open(sealed, { projectId, ownerId, purpose, version: row.version }) }
}

/** Removes all values of an owner. Succeeds if there are none. */
export async function removeSealed(db: Queries, projectId: string | null, ownerId: string): Promise<void> {
  await db
    .deleteFrom('sealed_values')
    .where('project_id', projectId === null ? 'is' : '=', projectId)
    .where('owner_id', '=', ownerId)
    .execute()
}
