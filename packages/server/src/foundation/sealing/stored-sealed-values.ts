import type { Queries } from '../store/open-store.ts'
import type { SealedValueRow } from '../store/tables.ts'
import type { MasterKeys } from './master-keys.ts'
import {
  type FoundSealed,
  type NewSealedValue,
  type SealedOwner,
  type SealedValues,
  type StoreSealed,
  storeSealed,
} from './sealed-values.ts'

/** The sealed values of a host that has the master keys. */
export class StoredSealedValues implements SealedValues {
  readonly #masterKeys: MasterKeys

  constructor(masterKeys: MasterKeys) {
    this.#masterKeys = masterKeys
  }

  async put(changes: Queries, { value, ...owner }: NewSealedValue): Promise<void> {
    await storeSealed(changes, owner, this.#masterKeys.seal(value, owner))
  }

  async prepare(value: NewSealedValue): Promise<StoreSealed> {
    // Sealed in the change: a rotation waits for those under way, and misses nothing.
    return (changes) => this.put(changes, value)
  }

  async read(db: Queries, owner: SealedOwner): Promise<string | null> {
    const found = await this.find(db, owner)
    return found === null ? null : found.open()
  }

  async find(db: Queries, { projectId, ownerId, purpose }: SealedOwner): Promise<FoundSealed | null> {
    const row = await db
      .selectFrom('sealed_values')
      .selectAll()
      .where('project_id', projectId === null ? 'is' : '=', projectId)
      .where('owner_id', '=', ownerId)
      .where('purpose', '=', purpose)
      .executeTakeFirst()
    if (row === undefined) return null
    const sealed = { masterKeyId: row.master_key_id, text: row.sealed }
    return { open: async () => this.#masterKeys.open(sealed, { projectId, ownerId, purpose, version: row.version }) }
  }
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
