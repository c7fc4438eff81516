import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { BuilderError } from '../errors.ts'
import type { Descriptor } from './oci-schemas.ts'
import type { Layer } from './read-layout.ts'

/**
 * The maximum size of a manifest or configuration in bytes. They have a few KiB, and registries
 * refuse more than 4 MiB.
 */
const MAX_SMALL_BLOB = 4 * 2 ** 20

/** Reads a manifest or configuration of a layout, and verifies it against its descriptor. */
export async function readSmallBlob(layout: string, { digest, size }: Descriptor): Promise<Uint8Array> {
  if (size > MAX_SMALL_BLOB) throw new BuilderError('image_too_large', `${digest} has ${size} bytes of metadata.`)
  await using file = await open(join(layout, 'blobs/sha256', digest.slice('sha256:'.length)), 'r')
  const bytes = Buffer.alloc(size + 1)
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
  const content = bytes.subarray(0, bytesRead)
  if (bytesRead !== size || sha256(createHash('sha256').update(content)) !== digest) throw damaged(digest)
  return content
}

/** The uncompressed bytes that the layers of an image may still have, for all layers together. */
export interface ByteBudget {
  left: number
}

/**
 * Yields the uncompressed bytes of a layer. With `verify`, it throws at its end unless the blob and
 * its content have the digests in the manifest and the configuration. Bytes read before that are
 * unverified.
 */
export async function* layerBytes(
  layer: Layer,
  options: { verify: boolean; budget: ByteBudget },
): AsyncGenerator<Uint8Array> {
  const blob = createHash('sha256')
  const content = createHash('sha256')
  const source = fileBytes(layer.path)
  try {
    const input = options.verify ? hashed(source, blob) : source
    for await (const chunk of await uncompressed(layer, input)) {
      options.budget.left -= chunk.length
      if (options.budget.left < 0)
        throw new BuilderError('image_too_large', 'The image is larger uncompressed than the limit.')
      if (options.verify) content.update(chunk)
      yield chunk
    }
  } catch (error) {
    if (error instanceof BuilderError) throw error
    throw new BuilderError('image_invalid', `Layer ${layer.descriptor.digest} cannot be uncompressed.`, {
      cause: error,
    })
  }
  if (!options.verify) return
  if (sha256(blob) !== layer.descriptor.digest) throw damaged(layer.descriptor.digest)
  if (sha256(content) !== layer.diffId) throw damaged(layer.diffId)
}

/**
 * Yields the bytes of a file, which is opened when they are requested. A stream that fails before
 * it has a listener would end the service.
 */
async function* fileBytes(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path, { highWaterMark: 2 ** 20 })
}

async function* hashed(source: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    hash.update(chunk)
    yield chunk
  }
}

async function uncompressed(layer: Layer, source: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const magic = await firstBytes(layer.path)
  const decoder = magic === '28b52ffd' ? createZstdDecompress() : magic.startsWith('1f8b') ? createGunzip() : undefined
  if (decoder === undefined) return source
  // The reader of the decoder gets an error.
  return pipeline(source, decoder, () => undefined)
}

/**
 * Returns the first bytes of a file in hex. They decide on the compression, because the media types
 * in registries can be wrong.
 */
async function firstBytes(path: string): Promise<string> {
  await using file = await open(path, 'r')
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
  return buffer.subarray(0, bytesRead).toString('hex')
}

function sha256(hash: Hash): string {
  return `sha256:${hash.digest('hex')}`
}

function damaged(digest: string): BuilderError {
  return new BuilderError('image_invalid', `The image's content does not match its digest ${digest}.`)
}
