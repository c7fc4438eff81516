import type { Queries } from '../store/open-store.ts'
import type { Sealed, SealedFor } from './master-keys.ts'

/** The owner and the purpose of a sealed value. An owner has one value of a purpose. */
export type SealedOwner = Omit<SealedFor, 'version'>

/** A value that is to be sealed, with its owner. */
export interface NewSealedValue extends SealedFor {
  readonly value: string
}

/** Stores a value in the transaction of a change. */
export type StoreSealed = (changes: Queries) => Promise<void>

/** A stored value that is still sealed. */
export interface FoundSealed {
  /** Returns the value. Rejects if it is damaged, or sealed with another key. */
  open(): Promise<string>
}

/**
 * The sealed values of the service. A host with master keys seals and opens them itself
 * (`StoredSealedValues`). A worker has none, so it asks a host that has them.
 */
export interface SealedValues {
  /**
   * Seals a value and stores it in place of the owner's earlier one. `changes` is the transaction
   * of the change.
   */
  put(changes: Queries, value: NewSealedValue): Promise<void>
  /**
   * Prepares a value for the change that stores it as `put` does. Other hosts are asked here, so
   * that no change waits for them.
   */
  prepare(value: NewSealedValue): Promise<StoreSealed>
  /** Returns the value of an owner, or null if there is none. Rejects as `open` does. */
  read(db: Queries, owner: SealedOwner): Promise<string | null>
  /**
   * Returns the sealed value of an owner, or null if there is none. A failed read is thus different
   * from a value that does not open.
   */
  find(db: Queries, owner: SealedOwner): Promise<FoundSealed | null>
}

/** Stores a sealed text in place of the owner's earlier one. */
export async function storeSealed(
  changes: Queries,
  { projectId, ownerId, purpose, version }: SealedFor,
  { masterKeyId, text }: Sealed,
): Promise<void> {
  const row = {
    owner_id: ownerId,
    purpose,
    project_id: projectId,
    version,
    master_key_id: masterKeyId,
    sealed: text,
  }
  await changes
    .insertInto('sealed_values')
    .values(row)
    .onConflict((conflict) => conflict.columns(['owner_id', 'purpose']).doUpdateSet(row))
    .execute()
}

/** Removes all values of an owner. Succeeds if there are none. */
export async function removeSealed(db: Queries, projectId: string | null, ownerId: string): Promise<void> {
  await db
    .deleteFrom('sealed_values')
    .where('project_id', projectId === null ? 'is' : '=', projectId)
    .where('owner_id', '=', ownerId)
    .execute()
}
