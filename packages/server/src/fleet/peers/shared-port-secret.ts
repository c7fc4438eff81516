import type { MasterKeys } from '../../foundation/sealing/master-keys.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import { sealedPlace } from './peer-authority.ts'

const owner = { purpose: 'port secret', projectId: null, ownerId: 'fleet', version: 1 } as const

/**
 * Returns the secret that signs tokens for ports, which all hosts of a fleet share. It is that of
 * the first host, so its earlier links stay valid. Throws if the master keys do not open it.
 */
export async function sharedPortSecret(store: Store, masterKeys: MasterKeys, own: Buffer): Promise<Buffer> {
  const place = sealedPlace(store, masterKeys, owner)
  const text = (await place.read()) ?? (await place.putFirst(own.toString('hex')))
  return Buffer.from(text, 'hex')
}
