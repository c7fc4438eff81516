import { hkdfSync, randomBytes } from 'node:crypto'
import { findSealed, putSealed } from '../sealing/sealed-values.ts'
import type { Service } from '../service.ts'
import type { Queries, Store } from '../store/open-store.ts'

/** The purpose of the one sealed value without which nothing is lost but the answers of a day. */
export const recordsPurpose = 'idempotency'

const owner = { purpose: recordsPurpose, projectId: null, ownerId: recordsPurpose }

/** What the records of a project are made with, whichever of its API keys asks. */
export interface RecordKeys {
  /**
   * Fingerprints are keyed, because a request may hold a secret that is short enough to be guessed.
   */
  readonly fingerprint: Uint8Array
  readonly answer: Uint8Array
}

type Parts = Pick<Service, 'store' | 'masterKeys' | 'log'>

/** The secret that all of them follow from; it does not change while a service runs. */
const rootOf = new WeakMap<Store, Promise<Buffer>>()

/**
 * The keys of a project, of a secret that the store has under the master key (HKDF-SHA256, RFC
 * 5869).
 */
export async function recordKeys(parts: Parts, projectId: string): Promise<RecordKeys> {
  const root = await rootIn(parts)
  const derive = (what: string) =>
    new Uint8Array(hkdfSync('sha256', root, '', `holt idempotency 2 ${what} ${projectId}`, 32))
  return { fingerprint: derive('fingerprint'), answer: derive('answer') }
}

function rootIn(parts: Parts): Promise<Buffer> {
  const known = rootOf.get(parts.store)
  if (known !== undefined) return known
  const root = readOrMakeRoot(parts)
  rootOf.set(parts.store, root)
  root.catch(() => rootOf.delete(parts.store)) // The next request asks again.
  return root
}

/** No power cut takes it without every record: those are written after it. */
function readOrMakeRoot(parts: Parts): Promise<Buffer> {
  const { store, masterKeys } = parts
  const readOrMake = async (changes: Queries) => {
    const found = await readRoot(parts, changes)
    if (found !== null) return found
    const made = randomBytes(32)
    await putSealed(changes, masterKeys, { ...owner, version: 1, value: made.toString('base64') })
    return made
  }
  return store.change(readOrMake, { durable: 'later' })
}

/**
 * Null where there is none, or none that opens: with another one, requests of before are told from
 * all others, and refused.
 */
async function readRoot({ masterKeys, log }: Parts, changes: Queries): Promise<Buffer | null> {
  // A database that cannot be read says nothing of the secret: whoever asks is told so.
  const sealed = await findSealed(changes, masterKeys, owner)
  if (sealed === null) return null
  try {
    return Buffer.from(sealed.open(), 'base64')
  } catch (err) {
    // Its master key is gone, or its row is damaged: to refuse every request with a key for that
    // would help nobody.
    log.error({ err }, 'the secret of the records of Idempotency-Key does not open, and is made anew')
    return null
  }
}
