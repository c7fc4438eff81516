import { HoltError } from '@holt/protocol'
import { recordEvent } from '../events/record-event.ts'
import type { Answer, Call } from '../http/call.ts'
import type { Service } from '../service.ts'
import { moment } from '../store/moment.ts'
import type { SealedValueRow } from '../store/tables.ts'
import type { MasterKeys, SealedFor } from './master-keys.ts'
import { putSealed } from './sealed-values.ts'

/** The services that are rotating: of one state directory there is one at a time. */
const rotating = new WeakSet<Service['masterKeys']>()

/**
 * Encrypts every sealed value anew under a new key and forgets the old one. Answers how many values
 * that were.
 */
async function rotateMasterKey(service: Service): Promise<number> {
  const { masterKeys } = service
  if (rotating.has(masterKeys)) throw new HoltError('conflict', 'The key is being rotated already.')
  rotating.add(masterKeys)
  try {
    await masterKeys.add(service.now())
    return await finishRotation(service)
  } finally {
    rotating.delete(masterKeys)
  }
}

/**
 * Seals what another than the newest key has sealed, as one transaction, and forgets the other
 * keys. A start calls it too: a rotation that was killed half-way has left both keys, and every
 * value opens with one of them. One that opens with none is lost already: it stays as it is, the
 * log says whose it is, and it keeps no other from a new key.
 */
export async function finishRotation({ store, masterKeys, log }: Service): Promise<number> {
  const { resealed, lost } = await store.change(async (changes) => {
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
      await putSealed(changes, masterKeys, { ...owner, value })
    }
    return { resealed: rows.length - unopened.length, lost: unopened }
  })
  if (lost.length > 0)
    log.error({ values: lost.slice(0, 20), count: lost.length }, 'sealed values open with no master key: set them anew')
  if (masterKeys.rotating) await masterKeys.dropOthers()
  return resealed
}

function opened(masterKeys: MasterKeys, row: SealedValueRow, owner: SealedFor): string | null {
  try {
    return masterKeys.open({ masterKeyId: row.master_key_id, text: row.sealed }, owner)
  } catch {
    return null // Its key is gone, or its row is damaged.
  }
}

/** Answers a request to rotate. */
export async function rotateSecretKey({ service, caller }: Call<'rotateSecretKey'>): Promise<Answer> {
  const resealed = await rotateMasterKey(service)
  const at = service.now()
  await service.store.change((changes) =>
    recordEvent(changes, {
      projectId: caller.projectId,
      type: 'secret_key.rotated',
      subjectId: caller.keyId,
      data: { by: caller.keyId },
      at,
    }),
  )
  return { status: 200, json: { resealed, rotated_at: moment(at) } }
}
