import { randomBytes } from 'node:crypto'
import { basename, join } from 'node:path'
import { randomText } from '@holt/protocol'
import { z } from 'zod'
import { readIfThere } from '../config/installation.ts'
import { writeDurably } from '../config/write-durably.ts'

const MasterKeyFile = z.object({
  keys: z
    .array(
      z.object({
        id: z.string().regex(/^[a-z0-9]{12}$/),
        key: z.string().refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes of base64'),
        created_at: z.number(),
      }),
    )
    .min(1),
})

/** A key that seals values. */
export interface MasterKey {
  readonly id: string
  readonly key: Buffer
  readonly createdAt: number
}

/** The settings that say where the master keys are. */
export interface MasterKeysPlace {
  readonly stateDir: string
  /** A file that the operator writes. Without one it is that of the state directory. */
  readonly masterKeysFile?: string | null
}

/** Returns the path of the file with the master keys. */
export function masterKeysPath({ stateDir, masterKeysFile }: MasterKeysPlace): string {
  return masterKeysFile ?? join(stateDir, 'master-keys.json')
}

/** Reads the keys of a file, the oldest first; null if there is none. Throws if it is damaged. */
export async function readMasterKeys(path: string): Promise<readonly MasterKey[] | null> {
  const text = await readIfThere(path)
  if (text === null) return null
  let file: z.infer<typeof MasterKeyFile>
  try {
    file = MasterKeyFile.parse(JSON.parse(text))
  } catch {
    // The file is not overwritten, because without it the secrets are lost. The error does not
    // repeat its content.
    throw new Error(`${basename(path)} is not readable: restore it from a backup`)
  }
  return file.keys.map(({ id, key, created_at }) => ({ id, key: Buffer.from(key, 'base64'), createdAt: created_at }))
}

/** Replaces the keys of a file durably. */
export async function writeMasterKeys(path: string, keys: readonly MasterKey[]): Promise<void> {
  const file = keys.map(({ id, key, createdAt }) => ({ id, key: key.toString('base64'), created_at: createdAt }))
  await writeDurably(path, `${JSON.stringify({ keys: file })}\n`)
}

/** Returns a new key. `now` is in milliseconds. */
export function newMasterKey(now: number): MasterKey {
  return { id: randomText(12), key: randomBytes(32), createdAt: now }
}

/** Adds a new key to a file, as the last one. Makes the file if there is none. Returns its id. */
export async function addMasterKey(path: string, now: number): Promise<string> {
  const key = newMasterKey(now)
  await writeMasterKeys(path, [...((await readMasterKeys(path)) ?? []), key])
  return key.id
}
