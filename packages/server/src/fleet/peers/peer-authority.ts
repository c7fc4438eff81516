import { X509Certificate } from 'node:crypto'
import { type CertifiedKey, makeAuthority } from '@holt/egress'
import { z } from 'zod'
import type { MasterKeys, SealedFor } from '../../foundation/sealing/master-keys.ts'
import { StoredSealedValues } from '../../foundation/sealing/stored-sealed-values.ts'
import { aloneWithService } from '../../foundation/store/alone.ts'
import type { Store } from '../../foundation/store/open-store.ts'

/** The domain of the names in certificates of hosts. No public name is below it. */
export const peerDomain = 'peer.holt'

const dayMs = 24 * 60 * 60 * 1000

/** The validity of the authority, in milliseconds. Only the hosts of one fleet trust it. */
const validMs = 20 * 365 * dayMs

/** The time by which certificates are backdated, for hosts whose clocks are behind. */
export const backdatedMs = 60 * 60 * 1000

/** The authority is no host, so all fleets use the same owner. */
const authorityOwner: SealedFor = { purpose: 'fleet ca', projectId: null, ownerId: 'fleet', version: 1 }

const Stored = z.object({ certificatePem: z.string(), privateKeyPem: z.string() })

/** The place of a text that all hosts of a fleet share. */
interface SharedPlace {
  /** Returns the stored text, or null if there is none. */
  read(): Promise<string | null>
  /** Stores a text unless there is one. Returns the text that is stored then. */
  putFirst(text: string): Promise<string>
}

/** Returns the place of a text among the sealed values of a store. Default: the authority's. */
export function sealedPlace(
  store: Pick<Store, 'db' | 'change'>,
  masterKeys: MasterKeys,
  owner: SealedFor = authorityOwner,
): SharedPlace {
  const sealed = new StoredSealedValues(masterKeys)
  return {
    read: () => sealed.read(store.db, owner),
    putFirst: (text) =>
      store.change(aloneWithService, async (changes) => {
        const found = await sealed.read(changes, owner)
        if (found === null) await sealed.put(changes, { ...owner, value: text })
        return found ?? text
      }),
  }
}

/**
 * Returns the certificate authority of a fleet: ECDSA over P-256, for names below `peer.holt` only.
 * The first host makes it. Throws if it is damaged, or if the master keys do not open it.
 */
export async function openPeerAuthority(place: SharedPlace): Promise<CertifiedKey> {
  const text = (await place.read()) ?? (await place.putFirst(JSON.stringify(await newAuthority())))
  const authority = Stored.parse(JSON.parse(text))
  if (!new X509Certificate(authority.certificatePem).ca)
    throw new Error('the certificate authority of the fleet is damaged: its certificate is not that of an authority')
  return authority
}

function newAuthority(): Promise<CertifiedKey> {
  return makeAuthority({ name: 'Holt fleet', backdatedMs, validMs, onlyBelow: peerDomain })
}
