import { type ObjectStore, ObjectStoreError, type OpenObject } from '@holt/object-store'
import type { ArtifactKeys } from './artifact-keys.ts'
import { partOf } from './part-of.ts'
import { headerBytes, openHeader, seal, sealedRangeOf, sealedSize, unseal } from './sealed-stream.ts'

/** An object, and the keys that seal it. */
interface Place {
  readonly key: string
  /** Null: the object is not sealed. */
  readonly keys: ArtifactKeys | null
}

/** An object whose content has a known size; null: any. */
interface Source extends Place {
  readonly contentBytes: number | null
  /** The keys of objects that were opened, by their names, so that a range needs one request. */
  readonly opened?: Map<string, Buffer>
}

interface Range {
  readonly start: number
  readonly end: number
}

/** Writes an object, sealed if there are keys. */
export async function writeContent(
  objects: ObjectStore,
  { key, keys }: Place,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const pieces = asAsync(content)
  await objects.put(key, keys === null ? pieces : seal(pieces, { keys, objectKey: key }), { signal })
}

/**
 * Reads the content of an object, or a range of it. Fails with `damaged` if it has another size.
 */
export async function* readContent(
  objects: ObjectStore,
  { key, keys, contentBytes, opened }: Source,
  range: Range | null,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  if (keys === null) {
    const { sizeBytes, body } = await objects.get(key, { signal, ...(range === null ? {} : { range }) })
    if (contentBytes !== null && sizeBytes !== contentBytes) throw otherSize(key)
    return yield* body
  }
  const known = contentBytes === null ? undefined : opened?.get(key)
  const header = known === undefined ? await readHeader(objects, { key, keys }, signal) : null
  const plainBytes = contentBytes ?? contentOf(header?.sizeBytes ?? 0)
  const derived = known ?? header?.derived
  if (plainBytes === null || derived === undefined) throw otherSize(key)
  const wanted = range ?? { start: 0, end: plainBytes }
  const { firstChunk, start, end, skip } = sealedRangeOf(wanted, plainBytes)
  const { sizeBytes, body } = await openRange(objects, { key, range: { start, end } }, signal)
  if (sizeBytes !== sealedSize(plainBytes)) throw otherSize(key)
  opened?.set(key, derived)
  const content = unseal(body, { key: derived, objectKey: key, firstChunk, plainBytes })
  yield* partOf(content, { skip, length: wanted.end - wanted.start })
}

async function readHeader(
  objects: ObjectStore,
  { key, keys }: { readonly key: string; readonly keys: ArtifactKeys },
  signal: AbortSignal,
): Promise<{ readonly sizeBytes: number; readonly derived: Buffer }> {
  const { sizeBytes, body } = await openRange(objects, { key, range: { start: 0, end: headerBytes } }, signal)
  return { sizeBytes, derived: openHeader(await wholeOf(body), keys, key) }
}

/** Opens a range of an object that must have it. A shorter object is `damaged`. */
async function openRange(
  objects: ObjectStore,
  { key, range }: { readonly key: string; readonly range: Range },
  signal: AbortSignal,
): Promise<OpenObject> {
  try {
    return await objects.get(key, { range, signal })
  } catch (error) {
    if (error instanceof ObjectStoreError && error.kind === 'invalid') throw otherSize(key, error)
    throw error
  }
}

/** Returns the size of the content of a sealed object; null if no content has that size. */
function contentOf(sealedBytes: number): number | null {
  for (let chunks = 1; sealedSize(0) + (chunks - 1) * 16 <= sealedBytes; chunks += 1) {
    const plainBytes = sealedBytes - sealedSize(0) - (chunks - 1) * 16
    if (sealedSize(plainBytes) === sealedBytes) return plainBytes
  }
  return null
}

function otherSize(key: string, cause?: unknown): ObjectStoreError {
  return new ObjectStoreError('damaged', `${key} has another size than was written`, { cause })
}

async function wholeOf(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function* asAsync(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* content
}
