import { createHash, hkdfSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** The bytes of the id of a key in a sealed object. */
export const keyIdBytes = 8

/** The keys that seal artifacts before they leave this host. */
export class ArtifactKeys {
  readonly #keys: ReadonlyMap<string, Buffer>
  /** The id of the key that seals. The others only open. */
  readonly sealingId: string

  /** Takes keys of 32 bytes. The first one seals. */
  constructor(keys: readonly Buffer[]) {
    const [first] = keys
    if (first === undefined || keys.some((key) => key.length !== 32))
      throw new Error('a key of artifacts has 32 bytes, and one seals')
    this.#keys = new Map(keys.map((key) => [idOf(key), key]))
    this.sealingId = idOf(first)
  }

  /**
   * Returns the key of one object, derived by HKDF-SHA256 (RFC 5869); null if no key has that id.
   * An object that was moved to another name has another key.
   */
  deriveFor({ id, salt, objectKey }: { readonly id: string; readonly salt: Uint8Array; readonly objectKey: string }) {
    const key = this.#keys.get(id)
    return key === undefined ? null : Buffer.from(hkdfSync('sha256', key, salt, `holt artifact 1\0${objectKey}`, 32))
  }
}

/** Returns the id of a key, in hex. It says nothing about the key. */
function idOf(key: Buffer): string {
  return createHash('sha256')
    .update('holt artifact key id\0')
    .update(key)
    .digest('hex')
    .slice(0, keyIdBytes * 2)
}

/**
 * Reads the setting `HOLT_ARTIFACT_KEY`: 64 hex digits, or the path of a file with such a key in
 * each line. The first key seals, and the others only open. Null: artifacts are not sealed.
 */
export async function readArtifactKeys(setting: string | null): Promise<ArtifactKeys | null> {
  if (setting === null) return null
  const text = setting.startsWith('/') ? await readFile(setting, 'utf8') : setting
  const lines = text.split('\n').map((line) => line.trim())
  const keys = lines.filter((line) => line !== '')
  if (keys.length === 0 || keys.some((key) => !/^[0-9a-f]{64}$/i.test(key)))
    throw new Error('HOLT_ARTIFACT_KEY: each key has 64 hex digits, as `openssl rand -hex 32` writes them')
  return new ArtifactKeys(keys.map((key) => Buffer.from(key, 'hex')))
}
