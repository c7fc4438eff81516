import { HoltError } from '@holt/protocol'
import { recordEvent } from '../events/record-event.ts'
import type { Answer, Call } from '../http/call.ts'
import type { Service } from '../service.ts'
import { moment } from '../store/moment.ts'
import { putSealed } from './sealed-values.ts'

/** The services that are rotating: of one state directory there is one at a time. */
const rotating = new WeakSet<Service['masterKeys']>()

/** Encrypts every sealed value anew under a new key and forgets the old one. Answers how many values that were. */
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
 * Seals what another than the newest key has sealed, as one transaction, and forgets the other keys. A start calls it too: a rotation that was
 * killed half-way has left both keys, and every value opens with one of them.
 */
export async function finishRotation({ store, masterKeys }: Service): Promise<number> {
  const resealed = await store.change(async (changes) => {
    const rows = await changes
      .selectFrom('sealed_values')
      .selectAll()
      .where('master_key_id', '!=', masterKeys.currentId)
      .execute()
    for (const row of rows) {
      const owner = {
        projectId: row.project_id,
        ownerId: row.owner_id,
        purpose: row.purpose,
        version: row.version,
      }
      const value = masterKeys.open({ masterKeyId: row.master_key_id, text: row.sealed }, owner)
      await putSealed(changes, masterKeys, { ...owner, value })
    }
    return rows.length
  })
  if (masterKeys.rotating) await masterKeys.dropOthers()
  return resealed
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
