import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { ObjectStoreError } from '@holt/object-store'
import { type ArtifactKeys, keyIdBytes } from './artifact-keys.ts'
import { piecesOfSizes } from './pieces-of-sizes.ts'

// A sealed object is a header (magic, id of the key, salt), then chunks. Each chunk has the
// ciphertext of up to 1 MiB and its tag. The nonce is the number of the chunk and a mark of the
// last one. So no chunk can be moved, left out or cut off. This is the STREAM construction (Hoang,
// Reyhanitabar, Rogaway, Vizár, 2015). The key is that of one object, so nonces do not repeat.

const magic = Buffer.from('HOLTSEA1')
const saltBytes = 32
const tagBytes = 16
const chunkBytes = 2 ** 20

/** The bytes before the first chunk. */
export const headerBytes = magic.length + keyIdBytes + saltBytes

/** Returns the size of a sealed object whose content has `plainBytes`. */
export function sealedSize(plainBytes: number): number {
  return headerBytes + plainBytes + tagBytes * chunksOf(plainBytes)
}

/** Seals a sequence for the object of a name. */
export async function* seal(
  content: AsyncIterable<Uint8Array>,
  { keys, objectKey }: { readonly keys: ArtifactKeys; readonly objectKey: string },
): AsyncGenerator<Uint8Array> {
  const salt = randomBytes(saltBytes)
  const key = keys.deriveFor({ id: keys.sealingId, salt, objectKey })
  if (key === null) throw new Error('the key that seals is one of the keys')
  yield Buffer.concat([magic, Buffer.from(keys.sealingId, 'hex'), salt])
  let index = 0
  let kept: Uint8Array | null = null
  for await (const chunk of piecesOfSizes(content, () => chunkBytes)) {
    if (kept !== null) yield sealChunk(key, index++, false, kept)
    kept = chunk
  }
  yield sealChunk(key, index, true, kept ?? Buffer.alloc(0))
}

function sealChunk(key: Buffer, index: number, isLast: boolean, chunk: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonceOf(index, isLast))
  const text = cipher.update(chunk)
  return Buffer.concat([text, cipher.final(), cipher.getAuthTag()])
}

/** The place of a range of content in a sealed object. */
export interface SealedRange {
  readonly firstChunk: number
  /** The first byte of the first chunk in the object. */
  readonly start: number
  /** The byte after the last chunk in the object. */
  readonly end: number
  /** The bytes of the first chunk before the range. */
  readonly skip: number
}

/** Returns the chunks that have the bytes from `start` to `end` of the content. */
export function sealedRangeOf(
  { start, end }: { readonly start: number; readonly end: number },
  plainBytes: number,
): SealedRange {
  const firstChunk = Math.min(Math.floor(start / chunkBytes), chunksOf(plainBytes) - 1)
  const lastChunk = Math.max(firstChunk, Math.ceil(end / chunkBytes) - 1)
  return {
    firstChunk,
    start: headerBytes + firstChunk * (chunkBytes + tagBytes),
    end:
      headerBytes + Math.min((lastChunk + 1) * (chunkBytes + tagBytes), plainBytes + tagBytes * chunksOf(plainBytes)),
    skip: start - firstChunk * chunkBytes,
  }
}

/** Returns the key that the header of a sealed object names. Fails with `damaged` or `refused`. */
export function openHeader(header: Uint8Array, keys: ArtifactKeys, objectKey: string): Buffer {
  const bytes = Buffer.from(header)
  if (bytes.length !== headerBytes || !bytes.subarray(0, magic.length).equals(magic)) throw damaged(objectKey)
  const id = bytes.toString('hex', magic.length, magic.length + keyIdBytes)
  const key = keys.deriveFor({ id, salt: bytes.subarray(magic.length + keyIdBytes), objectKey })
  if (key !== null) return key
  throw new ObjectStoreError(
    'refused',
    `${objectKey} is sealed with the key ${id}, which HOLT_ARTIFACT_KEY does not have`,
  )
}

interface SealedChunks {
  readonly key: Buffer
  readonly objectKey: string
  readonly firstChunk: number
  /** The size of the content of the whole object. */
  readonly plainBytes: number
}

/** Opens chunks in their order, the last one of which may be the end of the object. */
export async function* unseal(
  sealed: AsyncIterable<Uint8Array>,
  { key, objectKey, firstChunk, plainBytes }: SealedChunks,
): AsyncGenerator<Uint8Array> {
  const last = chunksOf(plainBytes) - 1
  const sizeOf = (index: number) => (index === last ? plainBytes - last * chunkBytes : chunkBytes) + tagBytes
  let index = firstChunk
  for await (const chunk of piecesOfSizes(sealed, (at) => sizeOf(firstChunk + at))) {
    if (index > last || chunk.length !== sizeOf(index)) throw damaged(objectKey)
    yield openChunk({ key, objectKey, index, isLast: index === last }, chunk)
    index += 1
  }
}

function openChunk(
  {
    key,
    objectKey,
    index,
    isLast,
  }: { readonly key: Buffer; readonly objectKey: string; readonly index: number; readonly isLast: boolean },
  chunk: Uint8Array,
): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(index, isLast), { authTagLength: tagBytes })
  decipher.setAuthTag(chunk.subarray(chunk.length - tagBytes))
  const text = decipher.update(chunk.subarray(0, chunk.length - tagBytes))
  try {
    return Buffer.concat([text, decipher.final()])
  } catch (error) {
    throw damaged(objectKey, error)
  }
}

function damaged(objectKey: string, cause?: unknown): ObjectStoreError {
  return new ObjectStoreError('damaged', `${objectKey}: the bytes are not those that were sealed`, { cause })
}

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(index, 7)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/** Returns the number of chunks. No content is one empty chunk, so that its end is sealed too. */
function chunksOf(plainBytes: number): number {
  return Math.max(1, Math.ceil(plainBytes / chunkBytes))
}
