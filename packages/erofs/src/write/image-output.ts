import type { FileHandle } from 'node:fs/promises'
import type { StoredContent } from '../entry.ts'
import { CHUNK_SIZE, deltaOn, HEAD_OFFSET, OWN_OFFSET, TAIL_OFFSET } from '../layout/delta-layout.ts'
import { encodeFrame } from '../layout/encode-frame.ts'
import { type BaseFields, encodeSuperblock } from '../layout/encode-superblock.ts'
import { BLOCK_SIZE, roundUp } from '../layout/format.ts'
import type { ImageReader } from '../read/image-reader.ts'
import { BlockWriter, writeAll } from './block-writer.ts'

/** The facts in the superblock that only the writer of the tree knows. */
interface ImageFacts {
  readonly rootNid: number
  readonly inodes: number
  readonly metadataBlock: number
  readonly uuid: Uint8Array
}

/** The image to share content with, and the digest of the file of its base. */
export interface ImageBase {
  readonly image: ImageReader
  /** The digest as 64 hex digits. */
  readonly sha256: string
}

/** The destination of an image: a file of its own, or a delta on a base. */
export class ImageOutput {
  readonly writer: BlockWriter
  readonly #handle: FileHandle
  readonly #base: ImageBase | null
  /** The position in the image at which the writer began. */
  readonly #start: number
  #sharedBytes = 0

  /** Throws `RangeError` if the base is too small to share a chunk. */
  constructor(handle: FileHandle, base: ImageBase | null) {
    this.#handle = handle
    this.#base = base
    if (base !== null && base.image.baseBytes < CHUNK_SIZE) throw new RangeError('the base is too small')
    this.#start = base === null ? BLOCK_SIZE : deltaOn(base.image.baseBytes).ownStart
    const offset = base === null ? BLOCK_SIZE : OWN_OFFSET
    this.writer = new BlockWriter(handle, { offset, position: this.#start })
  }

  /** The size so far that the image would have as a single file, in bytes. */
  get aloneBytes(): number {
    return BLOCK_SIZE + this.writer.position - this.#start + this.#sharedBytes
  }

  /**
   * Returns the first block of content that the base has, or null if the content has to be stored.
   */
  share(size: number, stored: StoredContent | undefined): number | null {
    if (stored === undefined || !this.isShareable(size, stored)) return null
    this.#sharedBytes += roundUp(size, BLOCK_SIZE)
    return stored.offset / BLOCK_SIZE
  }

  /** Returns true if the base has this content. */
  isShareable(size: number, stored: StoredContent): boolean {
    if (this.#base === null || size === 0 || stored.image !== this.#base.image) return false
    return stored.offset + roundUp(size, BLOCK_SIZE) <= this.#base.image.baseBytes
  }

  /** Writes the superblock and, for a delta, its frame. Nothing may be written after that. */
  async finish(facts: ImageFacts): Promise<void> {
    await this.writer.finish()
    const superblock = encodeSuperblock({ ...facts, blocks: this.writer.position / BLOCK_SIZE })
    if (this.#base === null) await writeAll(this.#handle, superblock, 0)
    else await this.#finishDelta(this.#base, superblock)
  }

  async #finishDelta({ image, sha256 }: ImageBase, superblock: Buffer): Promise<void> {
    const { baseBytes } = image
    const layout = deltaOn(baseBytes)
    const head = await image.readBase(0, CHUNK_SIZE)
    superblock.copy(head)
    await writeAll(this.#handle, head, HEAD_OFFSET)
    const tailBytes = baseBytes % CHUNK_SIZE
    if (tailBytes > 0) await writeAll(this.#handle, await image.readBase(baseBytes - tailBytes, tailBytes), TAIL_OFFSET)
    const metadataStart = this.writer.fileBytes
    const { rootNid, inodes, metadata } = encodeFrame(layout, this.writer.position)
    await writeAll(this.#handle, metadata, metadataStart)
    const blocks = (metadataStart + metadata.length) / BLOCK_SIZE
    const base: BaseFields = { sha256, blocks: baseBytes / BLOCK_SIZE, aloneBytes: this.aloneBytes }
    const uuid = Buffer.alloc(16)
    const frame = { rootNid, inodes, blocks, metadataBlock: metadataStart / BLOCK_SIZE, uuid, base }
    await writeAll(this.#handle, encodeSuperblock(frame), 0)
  }
}
