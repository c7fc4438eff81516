import { HoltError } from '@holt/protocol'
import type { Foundation } from '../foundation.ts'
import { aloneWithService } from '../store/alone.ts'
import type { MasterKeys } from './master-keys.ts'
import { logLost, resealRows } from './reseal-rows.ts'

/** The parts of the service that seal values again. */
interface Rotating extends Pick<Foundation, 'store' | 'log'> {
  readonly masterKeys: MasterKeys
}

/**
 * Encrypts every sealed value with a new key and removes the old one. Returns the number of values.
 * A host of a fleet uses the keys of the operator instead (`Foundation.rotateMasterKey`).
 */
export async function rotateMasterKey(service: Rotating & Pick<Foundation, 'now'>): Promise<number> {
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
export async function finishRotation({ store, masterKeys, log }: Rotating): Promise<number> {
  // Those under way may seal with the earlier key.
  if (masterKeys.rotating) await store.changesEnded()
  const { resealed, lost } = await store.change(aloneWithService, async (changes) => {
    const rows = await changes
      .selectFrom('sealed_values')
      .selectAll()
      .where('master_key_id', '!=', masterKeys.currentId)
      .execute()
    return resealRows(changes, masterKeys, rows)
  })
  logLost(log, lost)
  if (masterKeys.rotating) await masterKeys.dropOthers()
  return resealed
}
