import { createWriteStream } from 'node:fs'
import { rename, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { Semaphore } from '@holt/async'
import { BuildError } from '../errors.ts'
import type { Layer } from '../image/read-layout.ts'
import type { ImageSource } from './image-source.ts'
import { TransferError } from './transfer-error.ts'

/** The layers and bytes that have arrived, and their totals. */
export interface CopyProgress {
  readonly layersDone: number
  readonly layers: number
  readonly bytesDone: number
  readonly bytes: number
}

interface FetchOptions {
  readonly onBytes: (progress: CopyProgress) => void
  readonly signal: AbortSignal
}

/** The number of layers that are fetched at once, as by other container tools. */
const layersAtOnce = 6

/** The longest time for all layers of an image, in milliseconds. A slow registry ends no sooner. */
const fetchTimeoutMs = 30 * 60_000

/**
 * Fetches the layers of an image into their files, and verifies them. Fetches again while a failure
 * removes a server and others remain. Layers that are complete are not fetched twice. Throws
 * `BuildError` `image_pull_failed` if the disk is full.
 */
export async function fetchLayers(
  source: ImageSource,
  layers: readonly Layer[],
  { onBytes, signal }: FetchOptions,
): Promise<void> {
  const limit = AbortSignal.timeout(fetchTimeoutMs)
  const options = { onBytes, signal: AbortSignal.any([signal, limit]) }
  // An image may have the same layer twice.
  const distinct = [...new Map(layers.map((layer) => [layer.path, layer])).values()]
  for (;;) {
    const servers = source.serversLeft
    try {
      return await fetchMissing(source, distinct, options)
    } catch (error) {
      signal.throwIfAborted()
      if (limit.aborted) throw new TransferError('unreachable', 'The registry is too slow for this image.')
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw fullDisk(error)
      if (!(error instanceof TransferError) || source.serversLeft === servers) throw error
    }
  }
}

/** Returns the error of a disk that is full. */
export function fullDisk(cause?: unknown): BuildError {
  const hint = 'Ask the operator to free disk space. The image itself is valid.'
  return new BuildError('image_pull_failed', 'The disk of the service has no room for the image.', { hint, cause })
}

/** Fetches layers that are not there yet. The first failure ends the other transfers. */
async function fetchMissing(source: ImageSource, layers: readonly Layer[], options: FetchOptions): Promise<void> {
  const counter = countLayers(layers, options.onBytes)
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  const turns = new Semaphore(layersAtOnce)
  const fetches = layers.map((layer) =>
    turns
      .run(() => fetchLayer(source, layer, { counter, signal }), signal)
      // Each transfer has ended before the directory is removed.
      .catch((error: unknown) => failed.abort(error)),
  )
  await Promise.all(fetches)
  failed.signal.throwIfAborted()
}

interface Fetch {
  readonly counter: LayerCounter
  readonly signal: AbortSignal
}

async function fetchLayer(source: ImageSource, { path, descriptor }: Layer, { counter, signal }: Fetch): Promise<void> {
  const isThere = (await stat(path).catch(() => null)) !== null // It was not fetched yet.
  if (isThere) return counter.skip(descriptor.size)
  // Only a verified layer has the final name.
  const part = `${path}.part`
  await pipeline(counter.counted(source.blob(descriptor, signal)), createWriteStream(part))
  await rename(part, path)
}

/** Counts what arrives. */
interface LayerCounter {
  /** Passes the bytes of a layer on. */
  counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>
  /** Counts a layer that is there. */
  skip(bytes: number): void
}

function countLayers(layers: readonly Layer[], onBytes: FetchOptions['onBytes']): LayerCounter {
  const bytes = layers.reduce((sum, { descriptor }) => sum + descriptor.size, 0)
  let [layersDone, bytesDone] = [0, 0]
  const report = () => onBytes({ layersDone, layers: layers.length, bytesDone, bytes })
  report()
  return {
    async *counted(chunks) {
      for await (const chunk of chunks) {
        bytesDone += chunk.length
        report()
        yield chunk
      }
      layersDone += 1
      report()
    },
    skip(size) {
      bytesDone += size
      layersDone += 1
      report()
    },
  }
}
