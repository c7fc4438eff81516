import { HoltError } from '@holt/protocol'
import type { Foundation } from '../foundation.ts'
import { aloneWithService } from '../store/alone.ts'
import type { SealedValueRow } from '../store/tables.ts'
import type { MasterKeys, SealedFor } from './master-keys.ts'
import { resealValue } from './stored-sealed-values.ts'

/**
 * Encrypts every sealed value with a new key and removes the old one. Returns the number of values.
 * Throws in a fleet: the other hosts would not have the new key.
 */
export async function rotateMasterKey(service: Foundation): Promise<number> {
  if (service.config.fleet !== null)
    throw new HoltError('conflict', 'The hosts of a fleet share their master keys, and one host cannot replace them.')
  const resealed = await service.masterKeys.rotate(service.now(), () => finishRotation(service))
  if (resealed === null) throw new HoltError('conflict', 'The key is being rotated already.')
  return resealed
}

/**
 * Seals the values of older keys with the newest one, in one transaction, and removes the other
 * keys. A start that is in no fleet calls it too: an interrupted rotation leaves both keys, and
 * every value opens with one of them. A value that opens with no key is lost already. It stays
 * unchanged, the log names its owner, and the rotation continues.
 */
export async function finishRotation({ store, masterKeys, log }: Foundation): Promise<number> {
  // Those under way may seal with the earlier key.
  if (masterKeys.rotating) await store.changesEnded()
  const { resealed, lost } = await store.change(aloneWithService, async (changes) => {
    const rows = await changes
      .selectFrom('sealed_values')
      .selectAll()
      .where('master_key_id', '!=', masterKeys.currentId)
      .execute()
    const unopened: object[] = []
    for (const row of rows) {
      const owner = {
        projectId: row.project_id,
        ownerId: row.owner_id,
        purpose: row.purpose,
        version: row.version,
      }
      const value = opened(masterKeys, row, owner)
      if (value === null) {
        unopened.push({ owner_id: row.owner_id, purpose: row.purpose })
        continue
      }
      await resealValue(changes, masterKeys, { row, value })
    }
    return { resealed: rows.length - unopened.length, lost: unopened }
  })
  if (lost.length > 0)
    log.error({ values: lost.slice(0, 20), count: lost.length }, 'no master key unseals some values: set them again')
  if (masterKeys.rotating) await masterKeys.dropOthers()
  return resealed
}

function opened(masterKeys: MasterKeys, row: SealedValueRow, owner: SealedFor): string | null {
  try {
    return masterKeys.open({ masterKeyId: row.master_key_id, text: row.sealed }, owner)
  } catch {
    return null // Its key is lost, or its row is damaged.
  }
}
