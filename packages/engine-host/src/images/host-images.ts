import { randomBytes } from 'node:crypto'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  EngineError,
  failpoint,
  type ImageDigest,
  type ImageInfo,
  type ImageStore,
  type ImportOptions,
} from '@holt/engine'
import {
  type Entry,
  ErofsInputError,
  fillFromBase,
  ImageReader,
  readExport,
  readTar,
  WRITER_VERSION,
  writeImage,
} from '@holt/erofs'
import type { Layout } from '../layout.ts'
import { hasCode, syncPath } from '../tools/durable-files.ts'

/** Images as EROFS files named by their digest. One that has its name is whole: it was synced under another name before. */
export class HostImages implements ImageStore {
  readonly format = `erofs ${WRITER_VERSION}`
  readonly #layout: Layout
  readonly #isUsed: (digest: ImageDigest) => boolean

  constructor(layout: Layout, isUsed: (digest: ImageDigest) => boolean) {
    this.#layout = layout
    this.#isUsed = isUsed
  }

  async import(
    tar: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    { base, ...options }: ImportOptions = {},
  ): Promise<ImageInfo> {
    if (base === undefined) return this.#write(readTar(tar), options, signal)
    await using reader = await this.#read(base)
    return await this.#write(fillFromBase(readExport(tar), reader), options, signal)
  }

  async #read(digest: ImageDigest): Promise<ImageReader> {
    try {
      return await ImageReader.open(this.#layout.image(digest))
    } catch (error) {
      if (hasCode(error, 'ENOENT')) throw new EngineError('not_found', `there is no image ${digest}`)
      throw error
    }
  }

  async #write(
    entries: AsyncIterable<Entry>,
    { maxBytes, beforePublish }: Omit<ImportOptions, 'base'>,
    signal: AbortSignal,
  ): Promise<ImageInfo> {
    const temporary = join(this.#layout.images, `.tmp-${randomBytes(8).toString('hex')}`)
    try {
      // runsc 20240729 answers "operation not supported" for every file that has an extended attribute in the image.
      const { digest, sizeBytes } = await writeImage(entries, temporary, {
        signal,
        xattrs: 'drop',
        ...(maxBytes === undefined ? {} : { maxBytes }),
      })
      await syncPath(temporary)
      await failpoint('host.image-written')
      await beforePublish?.(digest)
      await rename(temporary, this.#layout.image(digest))
      await failpoint('host.image-named')
      await syncPath(this.#layout.images)
      return { digest, sizeBytes }
    } catch (error) {
      await rm(temporary, { force: true })
      throw importFailure(error, signal)
    }
  }

  async has(digest: ImageDigest): Promise<boolean> {
    return (await this.#sizeOf(digest)) !== null
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
    if (this.#isUsed(digest)) throw new EngineError('in_use', `a runtime is made of ${digest}`)
    await rm(this.#layout.image(digest), { force: true })
  }

  async #sizeOf(digest: ImageDigest): Promise<number | null> {
    try {
      return (await stat(this.#layout.image(digest))).size
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return null
      throw error
    }
  }
}

function importFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (hasCode(error, 'ENOSPC', 'EDQUOT')) return new EngineError('no_space', 'no space for the image', { cause: error })
  if (error instanceof ErofsInputError) return new EngineError('invalid', error.message, { cause: error })
  return error
}
