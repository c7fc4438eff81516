import { hkdfSync, randomBytes } from 'node:crypto'
import { recordsPurpose } from '../../foundation/rows/kept-answers.ts'
import { aloneWithService } from '../../foundation/store/alone.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { Tenancy } from '../tenancy.ts'

const owner = { purpose: recordsPurpose, projectId: null, ownerId: recordsPurpose }

/** The keys for the records of a project, the same for all its API keys. */
export interface RecordKeys {
  /** The key of fingerprints. A request may hold a secret that is short enough to guess. */
  readonly fingerprint: Uint8Array
  readonly answer: Uint8Array
  /**
   * The key of answers with a secret that is shown once. Each worker has another one: it gets the
   * other keys of a project, and reads all of its records.
   */
  readonly secretAnswer: Uint8Array
}

type Parts = Pick<Tenancy, 'store' | 'sealedValues' | 'log' | 'records'>

/**
 * Returns the keys of a project. They are derived from a secret that the store seals with the
 * master key (HKDF-SHA256, RFC 5869). A worker asks a front for them, which names it.
 */
export async function recordKeys(parts: Parts, projectId: string, workerId?: string): Promise<RecordKeys> {
  const { askKeys } = parts.records
  if (askKeys !== null) return askKeys(projectId)
  const root = await rootIn(parts)
  const derive = (what: string) =>
    new Uint8Array(hkdfSync('sha256', root, '', `holt idempotency 2 ${what} ${projectId}`, 32))
  const secretAnswer = derive(workerId === undefined ? 'secret answer' : `secret answer of ${workerId}`)
  return { fingerprint: derive('fingerprint'), answer: derive('answer'), secretAnswer }
}

function rootIn(parts: Parts): Promise<Buffer> {
  const { records } = parts
  if (records.root !== null) return records.root
  const root = readOrMakeRoot(parts)
  records.root = root
  root.catch(() => {
    records.root = null // The next request tries again.
  })
  return root
}

/**
 * Reads or makes the secret. A power loss that deletes it also deletes every record, because
 * records are written after it.
 */
function readOrMakeRoot(parts: Parts): Promise<Buffer> {
  const { store, sealedValues } = parts
  const readOrMake = async (changes: Queries) => {
    const found = await readRoot(parts, changes)
    if (found !== null) return found
    const made = randomBytes(32)
    await sealedValues.put(changes, { ...owner, version: 1, value: made.toString('base64') })
    return made
  }
  return store.change(aloneWithService, readOrMake, { durable: 'later' })
}

/**
 * Returns the secret, or null if there is none or it does not open. With another secret, earlier
 * requests have other fingerprints and are refused.
 */
async function readRoot({ sealedValues, log }: Parts, changes: Queries): Promise<Buffer | null> {
  // A database that cannot be read says nothing of the secret. The client gets that error.
  const sealed = await sealedValues.find(changes, owner)
  if (sealed === null) return null
  try {
    return Buffer.from(await sealed.open(), 'base64')
  } catch (err) {
    // Its master key is lost, or its row is damaged. A refusal of every request with a key would
    // not help.
    log.error({ err }, 'the secret of the records of Idempotency-Key cannot be unsealed, and is replaced')
    return null
  }
}
