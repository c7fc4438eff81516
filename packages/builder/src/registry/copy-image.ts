import { statfs } from 'node:fs/promises'
import { BuilderError } from '../errors.ts'
import type { ImageLimits } from '../image/image-limits.ts'
import type { Descriptor } from '../image/oci-schemas.ts'
import { type LayoutImage, pairLayers, readConfig } from '../image/read-layout.ts'
import { makeScratch } from '../scratch/make-scratch.ts'
import { bytesOf } from './answers.ts'
import { type CopyProgress, fetchLayers, fullDisk } from './fetch-layers.ts'
import type { ImageSource } from './image-source.ts'
import { chooseFromIndex, type ImageManifest, readImageManifest } from './manifest.ts'

/** Options for copying an image. */
export interface CopyOptions {
  /** The name of the image in messages. */
  readonly reference: string
  readonly limits: ImageLimits
  readonly workDir: string
  /** Reports the progress. Called for every chunk. */
  readonly onBytes: (progress: CopyProgress) => void
  readonly signal: AbortSignal
}

/** An image in a private directory. */
export interface CopiedImage extends LayoutImage, AsyncDisposable {}

const maxConfigBytes = 4 * 2 ** 20

/**
 * Copies the image with a digest into a private directory of this host. All content is verified by
 * size and digest. The layers stay compressed.
 */
export async function copyImage(source: ImageSource, digest: string, options: CopyOptions): Promise<CopiedImage> {
  const { reference, limits, signal } = options
  const top = await source.manifest(digest, signal)
  const chosen = chooseFromIndex(top, reference)
  const manifest = readImageManifest(chosen === null ? top : await source.manifest(chosen, signal), reference, limits)
  const { config, diffIds } = readConfig(await readSmall(source, manifest.config, signal))
  await refuseWithoutRoom(manifest, options.workDir)
  await using owned = new AsyncDisposableStack()
  const dir = owned.use(await makeScratch(options.workDir, 'image')).path
  const layers = pairLayers(dir, manifest.layers, diffIds)
  await fetchLayers(source, layers, options)
  const kept = owned.move()
  return { config, layers, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** The bytes that stay free on the disk during a pull, for other programs of the host. */
const keptFreeBytes = 512 * 2 ** 20

async function refuseWithoutRoom({ layers }: ImageManifest, workDir: string): Promise<void> {
  const { bavail, bsize } = await statfs(workDir)
  const bytes = layers.reduce((sum, { size }) => sum + size, 0)
  if (bytes + keptFreeBytes > bavail * bsize) throw fullDisk()
}

async function readSmall(source: ImageSource, descriptor: Descriptor, signal: AbortSignal): Promise<Uint8Array> {
  if (descriptor.size > maxConfigBytes)
    throw new BuilderError('image_too_large', `The image's configuration has ${descriptor.size} bytes.`)
  return bytesOf(source.blob(descriptor, signal), maxConfigBytes, 'the registry')
}
