import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import {
  type MasterKey,
  type MasterKeysPlace,
  masterKeysPath,
  newMasterKey,
  readMasterKeys,
  writeMasterKeys,
} from './master-key-file.ts'

const nonceBytes = 12
const tagBytes = 16

/**
 * The owner of a sealed value. It is authenticated with the value, so that the value cannot be
 * moved to another owner.
 */
export interface SealedFor {
  readonly purpose: string
  /** Null: the service itself. */
  readonly projectId: string | null
  readonly ownerId: string
  readonly version: number
}

/** A sealed value in its stored form. */
export interface Sealed {
  readonly masterKeyId: string
  /** Base64 of nonce, tag and ciphertext. */
  readonly text: string
}

/**
 * The keys that encrypt all secrets at rest with AES-256-GCM. Each value has a random nonce, which
 * is safe for 2^32 values of one key (NIST SP 800-38D, 8.2.2). The owner of the value is the
 * additional data. All keys are in one file of mode 0600. The last one seals, and the others only
 * open until a rotation is complete. In a fleet the last one that all hosts have seals.
 */
export class MasterKeys {
  readonly #path: string
  #keys: readonly MasterKey[]
  /** The id of the key that seals; null: the last one. */
  #sealingId: string | null = null
  #rotates = false

  constructor(path: string, keys: readonly MasterKey[]) {
    this.#path = path
    this.#keys = keys
  }

  /** The id of the key that seals. */
  get currentId(): string {
    return this.#current.id
  }

  /** The ids of all keys. */
  get ids(): readonly string[] {
    return this.#keys.map(({ id }) => id)
  }

  /** True while a rotation is incomplete. */
  get rotating(): boolean {
    return this.#keys.length > 1
  }

  /**
   * Seals a value. Call it inside the change that stores the value. Otherwise a rotation could miss
   * it.
   */
  seal(value: string, owner: SealedFor): Sealed {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#current.key, nonce)
    cipher.setAAD(additionalData(owner))
    const text = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
    return {
      masterKeyId: this.#current.id,
      text: Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64'),
    }
  }

  /**
   * Opens a sealed value. Throws if its key is lost, if it was changed, or if it belongs to another
   * owner.
   */
  open({ masterKeyId, text }: Sealed, owner: SealedFor): string {
    const key = this.#keys.find(({ id }) => id === masterKeyId)
    if (key === undefined) throw new Error(`a value is sealed with the master key ${masterKeyId}, which is not there`)
    const bytes = Buffer.from(text, 'base64')
    const decipher = createDecipheriv('aes-256-gcm', key.key, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    })
    decipher.setAAD(additionalData(owner))
    decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8')
  }

  /**
   * Adds a new key, and runs `reseal`, which seals the values of earlier keys with it. Returns null
   * if another rotation runs. A state directory has one service at a time.
   */
  async rotate<Result>(now: number, reseal: () => Promise<Result>): Promise<Result | null> {
    if (this.#rotates) return null
    this.#rotates = true
    try {
      await this.add(now)
      return await reseal()
    } finally {
      this.#rotates = false
    }
  }

  /** Adds a new key durably. It seals from then on, and the earlier ones still open. */
  async add(now: number): Promise<void> {
    await this.#write([...this.#keys, newMasterKey(now)])
  }

  /** Removes every key but the one that seals. All their values must have been sealed again. */
  async dropOthers(): Promise<void> {
    await this.#write([this.#current])
  }

  /** Lets one of the keys seal. */
  sealWith(id: string): void {
    if (!this.ids.includes(id)) throw new Error(`there is no master key ${id}`)
    this.#sealingId = id
  }

  /** Returns the keys in the file. Throws if it is damaged or gone. */
  async readFile(): Promise<readonly MasterKey[]> {
    const keys = await readMasterKeys(this.#path)
    if (keys === null) throw new Error(`${this.#path} is gone: restore it from a backup`)
    return keys
  }

  /** Replaces the keys by those of the file. Keeps those of `needed` that the file lacks. */
  take(file: readonly MasterKey[], needed: ReadonlySet<string>): void {
    const kept = this.#keys.filter(({ id }) => needed.has(id) && !file.some((key) => key.id === id))
    this.#keys = [...kept, ...file]
  }

  get #current(): MasterKey {
    const sealing = this.#keys.find(({ id }) => id === this.#sealingId)
    return sealing ?? (this.#keys.at(-1) as MasterKey)
  }

  async #write(keys: readonly MasterKey[]): Promise<void> {
    await writeMasterKeys(this.#path, keys)
    this.#keys = keys
  }
}

/**
 * Opens the master keys of a machine. Makes the first one if there is none, unless the operator
 * writes the file. Throws instead if `areNeeded` reports values that a new key would not open.
 */
export async function openMasterKeys(
  stateDir: string,
  {
    now,
    masterKeysFile = null,
    areNeeded = async () => false,
  }: Pick<MasterKeysPlace, 'masterKeysFile'> & {
    readonly now: number
    readonly areNeeded?: () => Promise<boolean>
  },
): Promise<MasterKeys> {
  const path = masterKeysPath({ stateDir, masterKeysFile })
  const known = await readMasterKeys(path)
  if (known !== null) return new MasterKeys(path, known)
  if (masterKeysFile !== null)
    throw new Error(`HOLT_MASTER_KEYS_FILE: ${path} is not there. Copy it from another host of the fleet`)
  if (await areNeeded())
    throw new Error(
      'master-keys.json is not in the state directory, and no other keys can unseal the values in the store. Restore it from a backup. Without a backup, HOLT_ADOPT_STORE=1 for one start makes new keys, and all secrets must be set again.',
    )
  const keys = [newMasterKey(now)]
  await writeMasterKeys(path, keys)
  return new MasterKeys(path, keys)
}

function additionalData({ purpose, projectId, ownerId, version }: SealedFor): Buffer {
  return Buffer.from(JSON.stringify(['holt sealed 1', purpose, projectId, ownerId, version]))
}
