import { HoltError } from '@holt/protocol'
import type { MasterKeys, SealedFor } from '../../foundation/sealing/master-keys.ts'
import { resealValue } from '../../foundation/sealing/sealed-values.ts'
import { aloneWith, aloneWithService } from '../../foundation/store/alone.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { SealedValueRow } from '../../foundation/store/tables.ts'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { recordChange } from '../../tenancy/events/record-change.ts'
import type { Resources } from '../resources.ts'

/**
 * Encrypts every sealed value with a new key and removes the old one. Returns the number of values.
 */
async function rotateMasterKey(service: Resources): Promise<number> {
  const resealed = await service.masterKeys.rotate(service.now(), () => finishRotation(service))
  if (resealed === null) throw new HoltError('conflict', 'The key is being rotated already.')
  return resealed
}

/**
 * Seals the values of older keys with the newest one, in one transaction, and removes the other
 * keys. A start calls it too: an interrupted rotation leaves both keys, and every value opens with
 * one of them. A value that opens with no key is lost already. It stays unchanged, the log names
 * its owner, and the rotation continues.
 */
export async function finishRotation({ store, masterKeys, log }: Resources): Promise<number> {
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

/** Handles a request to rotate the master key. */
export async function rotateSecretKey({ service, caller }: Call<'rotateSecretKey', Resources>): Promise<Answer> {
  const resealed = await rotateMasterKey(service)
  const at = service.now()
  await service.store.change(aloneWith(caller.projectId), (changes) =>
    recordChange(changes, { caller, type: 'secret_key.rotated', subjectId: caller.keyId, data: {}, at }),
  )
  return { status: 200, json: { resealed, rotated_at: moment(at) } }
}
