import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/**
 * The project and the `Idempotency-Key` of an answer. They are authenticated with the answer, so
 * that it cannot be moved to another record.
 */
export type AnswerOwner = readonly string[]

/**
 * Encrypts a kept answer (AES-256-GCM). The answer of a new key holds its secret, which must not be
 * in the table.
 */
export function seal(text: string, key: Uint8Array, owner: AnswerOwner): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(additionalData(owner))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
}

/** Returns about how many bytes of text a sealed answer of this length holds, from its base64. */
export function sealedBytesToText(bytes: number): number {
  return Math.floor((bytes * 3) / 4)
}

/**
 * Returns the text that was sealed with this key for this owner, as UTF-8. Returns null if key or
 * owner differ, or if the text is damaged.
 */
export function openSealed(sealed: string, key: Uint8Array, owner: AnswerOwner): Buffer | null {
  const bytes = Buffer.from(sealed, 'base64')
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
    decipher.setAAD(additionalData(owner))
    decipher.setAuthTag(bytes.subarray(12, 28))
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()])
  } catch {
    return null // It has another owner, or is damaged.
  }
}

function additionalData(owner: AnswerOwner): Buffer {
  return Buffer.from(JSON.stringify(owner))
}
