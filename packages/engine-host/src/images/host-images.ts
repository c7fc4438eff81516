import { randomBytes } from 'node:crypto'
import { link, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { KeyedLock } from '@holt/async'
import {
  EngineError,
  type ImageDigest,
  type ImageInfo,
  type ImageStore,
  type ImageTree,
  type ImportOptions,
} from '@holt/engine'
import {
  ErofsInputError,
  fillFromBase,
  ImageReader,
  type ImageSummary,
  readExport,
  WRITER_VERSION,
  type WriteImageOptions,
  writeImage,
} from '@holt/erofs'
import { failpoint } from '@holt/failpoints'
import { EntryError, readTar } from '@holt/tar'
import { hasCode, isThere, syncPath } from '../files/durable-files.ts'
import { hexOf, type Layout } from '../installation/layout.ts'
import type { Log } from '../installation/options.ts'
import { unmountTree } from '../mounts/mount.ts'
import { readFailure } from './damaged-image.ts'
import { hasImage, lacksBase } from './has-image.ts'
import { detachLeftDevices } from './mount-images.ts'
import { openTree } from './open-tree.ts'
import { probeDeltas } from './probe-deltas.ts'
import { type NewImage, publishImage } from './publish-image.ts'

/**
 * The smallest base of a delta, in bytes. A smaller base saves less than a delta costs: 200 KiB,
 * and two loop devices while it is used.
 */
const MIN_BASE_BYTES = 1 << 20

/** The time after which a host that could not mount a delta is probed again, in milliseconds. */
const PROBE_AGAIN_MS = 60_000

/** The parts of the engine that images need. */
interface ImagesInput {
  readonly isUsed: (digest: ImageDigest) => boolean
  readonly log: Log
}

/** The image whose files complete an export. */
interface Below {
  readonly digest: ImageDigest
  readonly reader: ImageReader
}

/**
 * Images as EROFS files named by their digest. An image with its name is complete, because it was
 * synced under another name before. The export of a runtime becomes a delta on the base of the
 * runtime's image. A hard link beside the delta holds the base, so no image depends on the name of
 * another.
 */
export class HostImages implements ImageStore {
  readonly format = `erofs ${WRITER_VERSION}`
  readonly #layout: Layout
  readonly #input: ImagesInput
  readonly #publishing = new KeyedLock()
  /** The sizes of deltas, which their files alone do not tell. */
  readonly #deltaSizes = new Map<ImageDigest, number>()
  /** The damaged images that the log already reports. */
  readonly #toldDamaged = new Set<ImageDigest>()
  #canMountDeltas: Promise<boolean> | null = null
  #probeAgainMs = Number.POSITIVE_INFINITY

  constructor(layout: Layout, input: ImagesInput) {
    this.#layout = layout
    this.#input = input
  }

  async import(
    tar: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    { base, ...options }: ImportOptions = {},
  ): Promise<ImageInfo> {
    if (base === undefined)
      return this.#import(options, signal, (target, limits) => writeImage(readTar(tar), target, limits))
    await using reader = await this.read(base)
    const sha256 = reader.baseSha256 ?? hexOf(base)
    return await this.#import({ ...options, below: { digest: base, reader } }, signal, (target, limits, isDelta) =>
      writeImage(fillFromBase(readExport(tar), reader), target, {
        ...limits,
        ...(isDelta && { base: { image: reader, sha256 } }),
      }),
    )
  }

  /** Removes the incomplete images of an earlier process. */
  async repair(): Promise<void> {
    const { images } = this.#layout
    const names = await readdir(images)
    for (const name of names) {
      const hex = /^([0-9a-f]{64})\.base$/.exec(name)?.[1]
      const isOrphan = hex !== undefined && !names.includes(`${hex}.erofs`)
      if (!name.startsWith('.tmp-') && !isOrphan) continue
      await unmountTree(join(images, name))
      await rm(join(images, name), { recursive: true, force: true })
    }
    await detachLeftDevices(images).catch((err: unknown) => {
      this.#input.log.warn({ err }, 'cannot search for loop devices of an earlier process')
    })
  }

  /** Returns two new names for the file of an image and that of its base. */
  temporary(): { readonly temporary: string; readonly temporaryBase: string } {
    const temporary = join(this.#layout.images, `.tmp-${randomBytes(8).toString('hex')}`)
    return { temporary, temporaryBase: `${temporary}.base` }
  }

  /** Gives a durable file, and perhaps its base, the names of an image. */
  async publish(digest: ImageDigest, files: NewImage): Promise<void> {
    await this.#publishing.run(digest, () => publishImage(this.#layout, digest, files))
  }

  async has(digest: ImageDigest): Promise<boolean> {
    return await hasImage(this.#layout, digest)
  }

  async open(digest: ImageDigest): Promise<ImageTree> {
    return await openTree(digest, () => this.read(digest))
  }

  async list(): Promise<readonly ImageInfo[]> {
    const images: ImageInfo[] = []
    for (const name of await readdir(this.#layout.images)) {
      const hex = /^([0-9a-f]{64})\.erofs$/.exec(name)?.[1]
      if (hex === undefined) continue
      const digest: ImageDigest = `sha256:${hex}`
      const sizeBytes = await this.#sizeOf(digest)
      if (sizeBytes !== null) images.push({ digest, sizeBytes })
    }
    return images
  }

  async remove(digest: ImageDigest): Promise<void> {
    if (this.#input.isUsed(digest)) throw new EngineError('in_use', `a runtime is made of ${digest}`)
    await this.#publishing.run(digest, async () => {
      await rm(this.#layout.image(digest), { force: true })
      await rm(this.#layout.imageBase(digest), { force: true })
      this.#deltaSizes.delete(digest)
      this.#toldDamaged.delete(digest)
    })
  }

  /** Opens an image with its base. Kinds `not_found` and `damaged`. */
  async read(digest: ImageDigest): Promise<ImageReader> {
    try {
      const base = this.#layout.imageBase(digest)
      return await ImageReader.open(this.#layout.image(digest), (await isThere(base)) ? base : null)
    } catch (error) {
      if (hasCode(error, 'ENOENT')) throw new EngineError('not_found', `there is no image ${digest}`)
      throw readFailure(digest, error)
    }
  }

  async #import(
    { maxBytes, beforePublish, below }: Omit<ImportOptions, 'base'> & { readonly below?: Below },
    signal: AbortSignal,
    write: (target: string, limits: WriteImageOptions, isDelta: boolean) => Promise<ImageSummary>,
  ): Promise<ImageInfo> {
    const { temporary, temporaryBase } = this.temporary()
    try {
      const isDelta = below !== undefined && (await this.#holdBase(below, temporaryBase))
      // gVisor (release 20260701) fails with "operation not supported" for each file that has an
      // extended attribute in the image (pkg/erofs, Image.Inode).
      const limits: WriteImageOptions = { signal, xattrs: 'drop', ...(maxBytes === undefined ? {} : { maxBytes }) }
      const { digest, sizeBytes } = await write(temporary, limits, isDelta)
      await syncPath(temporary)
      await failpoint('host.image-written')
      await beforePublish?.(digest)
      await this.publish(digest, { temporary, temporaryBase: isDelta ? temporaryBase : null })
      return { digest, sizeBytes }
    } catch (error) {
      throw importFailure(error, { signal, below: below?.digest })
    } finally {
      // A link that is renamed over one of the same file keeps its name (`rename(2)`).
      for (const path of [temporary, temporaryBase]) await rm(path, { force: true })
    }
  }

  /**
   * Links the base for a delta on this image. Returns false if a complete image is better, or the
   * only possibility.
   */
  async #holdBase({ digest, reader }: Below, target: string): Promise<boolean> {
    if (reader.baseBytes < MIN_BASE_BYTES || !(await this.mountsDeltas())) return false
    try {
      await link(reader.baseSha256 === null ? this.#layout.image(digest) : this.#layout.imageBase(digest), target)
      return true
    } catch (error) {
      if (hasCode(error, 'ENOENT')) throw new EngineError('not_found', `there is no image ${digest}`)
      // The file system has no hard links, the link would cross file systems, or the file has the
      // most links already.
      if (hasCode(error, 'EPERM', 'EOPNOTSUPP', 'EXDEV', 'EMLINK')) return false
      throw error
    }
  }

  async #sizeOf(digest: ImageDigest): Promise<number | null> {
    try {
      const isAlone = !(await isThere(this.#layout.imageBase(digest))) && !(await lacksBase(this.#layout, digest))
      if (isAlone) return (await stat(this.#layout.image(digest))).size
      const known = this.#deltaSizes.get(digest)
      if (known !== undefined) return known
      await using reader = await this.read(digest)
      this.#deltaSizes.set(digest, reader.aloneBytes)
      return reader.aloneBytes
    } catch (error) {
      if (hasCode(error, 'ENOENT') || (error instanceof EngineError && error.kind === 'not_found')) return null
      if (!(error instanceof EngineError) || error.kind !== 'damaged') throw error
      // A damaged image must not hide the others. It must be listed so that it can be removed.
      if (!this.#toldDamaged.has(digest)) this.#input.log.warn({ err: error, image: digest }, 'an image is damaged')
      this.#toldDamaged.add(digest)
      return await fileBytes(this.#layout.image(digest))
    }
  }

  /**
   * Returns true if the kernel of this host mounts a delta with its base. A failure is probed again
   * after a time, because the host may have had no space.
   */
  mountsDeltas(): Promise<boolean> {
    if (performance.now() >= this.#probeAgainMs) this.#canMountDeltas = null
    this.#canMountDeltas ??= this.#probeDeltas()
    return this.#canMountDeltas
  }

  /** Probes whether deltas can be mounted. Never rejects. */
  async #probeDeltas(): Promise<boolean> {
    const why = await probeDeltas(join(this.#layout.images, `.tmp-${randomBytes(8).toString('hex')}`)).catch(String)
    this.#probeAgainMs = why === null ? Number.POSITIVE_INFINITY : performance.now() + PROBE_AGAIN_MS
    if (why !== null)
      this.#input.log.warn({ why }, 'new images share no data with their base: the kernel cannot mount them together')
    return why === null
  }
}

/** Returns the bytes of a file, or null if there is none. */
async function fileBytes(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}

function importFailure(
  error: unknown,
  { signal, below }: { readonly signal: AbortSignal; readonly below: ImageDigest | undefined },
): unknown {
  if (signal.aborted) return signal.reason
  if (hasCode(error, 'ENOSPC', 'EDQUOT')) return new EngineError('no_space', 'no space for the image', { cause: error })
  const isBelow = error instanceof ErofsInputError && error.code === 'image_malformed'
  if (isBelow && below !== undefined) return readFailure(below, error)
  if (error instanceof EntryError) return new EngineError('invalid', error.message, { cause: error })
  return error
}
