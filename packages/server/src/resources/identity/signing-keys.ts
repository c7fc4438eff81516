import type { SigningAlgorithm } from '@holt/protocol'
import type { CryptoKey } from 'jose'
import { importJWK, type JWK } from 'jose'
import { type FoundSealed, removeSealed } from '../../foundation/sealing/sealed-values.ts'
import { aloneWithService } from '../../foundation/store/alone.ts'
import { storedJson } from '../../foundation/store/stored-json.ts'
import type { SigningKeyRow } from '../../foundation/store/tables.ts'
import { dayMs } from '../../foundation/time/day.ts'
import type { Resources } from '../resources.ts'
import { generateKeyPair } from './key-pair.ts'

/**
 * The time for which a key signs, and for which verifiers find it. The latter outlives every token
 * and every cache of keys.
 */
const signsMs = 30 * dayMs
const publishedMs = signsMs + dayMs

const purpose = 'signing key'

/** A key that currently signs. */
export interface SigningKey {
  readonly kid: string
  readonly algorithm: SigningAlgorithm
  readonly key: CryptoKey
  readonly createdAt: number
}

type Parts = Pick<Resources, 'store' | 'sealedValues' | 'now' | 'log'>

/**
 * The keys that sign the service's tokens. There is one for each requested algorithm. It is made on
 * demand and replaced after 30 days.
 */
export class SigningKeys {
  readonly #parts: Parts
  readonly #keys = new Map<SigningAlgorithm, Promise<SigningKey>>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Returns the key that currently signs. */
  async current(algorithm: SigningAlgorithm): Promise<SigningKey> {
    const known = this.#keys.get(algorithm)
    if (known !== undefined) {
      const key = await known
      if (key.createdAt + signsMs > this.#parts.now()) return key
      if (this.#keys.get(algorithm) === known) this.#keys.delete(algorithm)
      return this.current(algorithm)
    }
    const loading = this.#load(algorithm)
    this.#keys.set(algorithm, loading)
    // The next caller tries again if the key cannot be loaded.
    loading.catch(() => this.#keys.delete(algorithm))
    return loading
  }

  /** Returns the public keys that verifiers may still need, as JWKs. */
  async published(): Promise<readonly JWK[]> {
    const { store, now } = this.#parts
    const rows = await store.db
      .selectFrom('signing_keys')
      .selectAll()
      .where('created_at', '>', now() - publishedMs)
      .orderBy('seq', 'desc')
      .execute()
    return rows.flatMap((row) => {
      const jwk = publicJwk(row)
      return jwk === null ? [] : [jwk]
    })
  }

  /** Removes the keys that no verifier needs. */
  async removeOld(): Promise<void> {
    const { store, now } = this.#parts
    await store.change(aloneWithService, async (changes) => {
      const old = await changes
        .deleteFrom('signing_keys')
        .where('created_at', '<=', now() - publishedMs)
        .returning('kid')
        .execute()
      for (const { kid } of old) await removeSealed(changes, null, kid)
    })
  }

  async #load(algorithm: SigningAlgorithm): Promise<SigningKey> {
    const { store, sealedValues, now, log } = this.#parts
    const row = await store.db
      .selectFrom('signing_keys')
      .selectAll()
      .where('algorithm', '=', algorithm)
      .where('created_at', '>', now() - signsMs)
      .orderBy('seq', 'desc')
      .executeTakeFirst()
    if (row === undefined) return this.#make(algorithm)
    // A database that cannot be read says nothing of the key. The caller gets that error.
    const sealed = await sealedValues.find(store.db, { projectId: null, ownerId: row.kid, purpose })
    try {
      return await opened(row, sealed, algorithm)
    } catch (err) {
      // Verifiers find the new key as they do after 30 days. Signatures of the damaged one stay
      // valid.
      log.error({ err, kid: row.kid }, 'a signing key cannot be unsealed; a new one signs from now on')
      return this.#make(algorithm)
    }
  }

  async #make(algorithm: SigningAlgorithm): Promise<SigningKey> {
    const { store, sealedValues, now } = this.#parts
    const { kid, privateJwk, publicJwk } = await generateKeyPair(algorithm)
    const createdAt = now()
    await store.change(aloneWithService, async (changes) => {
      await changes
        .insertInto('signing_keys')
        .values({ kid, algorithm, public_jwk_json: JSON.stringify(publicJwk), created_at: createdAt })
        .execute()
      const value = JSON.stringify(privateJwk)
      await sealedValues.put(changes, { projectId: null, ownerId: kid, purpose, version: 1, value })
    })
    return { kid, algorithm, key: await privateKey(JSON.stringify(privateJwk), algorithm), createdAt }
  }
}

async function opened(
  row: SigningKeyRow,
  sealed: FoundSealed | null,
  algorithm: SigningAlgorithm,
): Promise<SigningKey> {
  const { kid, created_at: createdAt } = row
  if (publicJwk(row) === null) throw new Error(`the public half of the signing key ${kid} is damaged`)
  if (sealed === null) throw new Error(`the private half of the signing key ${kid} is not there`)
  return { kid, algorithm, key: await privateKey(await sealed.open(), algorithm), createdAt }
}

/** Returns the public key for verifiers, or null if its row is damaged. */
function publicJwk({ public_jwk_json, kid, algorithm }: SigningKeyRow): JWK | null {
  const jwk = storedJson(public_jwk_json)
  return typeof jwk === 'object' && jwk !== null ? { ...jwk, kid, alg: algorithm, use: 'sig' } : null
}

async function privateKey(jwkText: string, algorithm: SigningAlgorithm): Promise<CryptoKey> {
  return (await importJWK(JSON.parse(jwkText) as JWK, algorithm)) as CryptoKey
}
