import { type FileHandle, open } from 'node:fs/promises'
import { ErofsInputError } from '../errors.ts'
import { crc32c } from '../layout/crc32c.ts'
import { CHUNK_SIZE, type DeltaLayout, deltaOn, HEAD_OFFSET, OWN_OFFSET, pieceAt } from '../layout/delta-layout.ts'
import { DEVICE_SLOT_OFFSET, MAGIC } from '../layout/encode-superblock.ts'
import { BLOCK_SIZE, BLOCK_SIZE_BITS, SUPERBLOCK_OFFSET } from '../layout/format.ts'
import { hasDeltaFrame } from './is-delta.ts'
import { malformed } from './malformed.ts'

/** The bytes that are read at once from the metadata. */
const WINDOW_SIZE = 1 << 16
/** The maximum number of windows in the cache, 16 MiB. */
const MAX_WINDOWS = 256

/** The facts about its base that a delta states. */
interface Delta {
  readonly layout: DeltaLayout
  /** The SHA-256 of the base's file, as 64 hex digits. */
  readonly sha256: string
  readonly aloneBytes: number
}

/**
 * The file of an image, or the files of a delta and its base as one. The superblock is checked, and
 * reads stay within the image.
 */
export class ImageFile {
  readonly #handle: FileHandle
  readonly #base: FileHandle | null
  /** Null if the image is a single file. */
  readonly delta: Delta | null
  /** The size of the image in bytes. For a delta, that of the whole. */
  readonly sizeBytes: number
  readonly rootNid: number
  readonly inodes: number
  /** The offset at which inodes begin, in bytes. */
  readonly metadataOffset: number
  readonly #windows = new Map<number, Promise<Buffer>>()

  private constructor(
    files: { readonly handle: FileHandle; readonly base: FileHandle | null },
    { superblock, delta }: { readonly superblock: Buffer; readonly delta: Delta | null },
  ) {
    this.#handle = files.handle
    this.#base = files.base
    this.delta = delta
    this.sizeBytes = superblock.readUInt32LE(36) * BLOCK_SIZE
    this.rootNid = superblock.readUInt16LE(14)
    this.inodes = Number(superblock.readBigUInt64LE(16))
    this.metadataOffset = superblock.readUInt32LE(40) * BLOCK_SIZE
  }

  /**
   * Opens an image that `writeImage` has written. Throws `image_malformed` for any other file.
   * Throws `base_mismatch` for a delta if the file of its base is not given or has another size.
   */
  static async open(path: string, basePath: string | null): Promise<ImageFile> {
    const handle = await open(path, 'r')
    let base: FileHandle | null = null
    try {
      const { size } = await handle.stat()
      const block = Buffer.alloc(BLOCK_SIZE)
      if (size < BLOCK_SIZE || size % BLOCK_SIZE !== 0) throw malformed(`it has ${size} bytes`)
      await readFully(handle, block, 0)
      const delta = readDelta(block, size)
      const superblock = block.subarray(SUPERBLOCK_OFFSET)
      if (delta === null) {
        checkSuperblock(superblock, size)
        return new ImageFile({ handle, base }, { superblock, delta })
      }
      base = basePath === null ? null : await open(basePath, 'r')
      if (base === null || (await base.stat()).size !== delta.layout.baseBytes)
        throw new ErofsInputError('base_mismatch', '', 'the base of this image is not there')
      await readFully(handle, block, HEAD_OFFSET)
      checkSuperblock(superblock, superblock.readUInt32LE(36) * BLOCK_SIZE)
      const ownBytes = superblock.readUInt32LE(36) * BLOCK_SIZE - delta.layout.ownStart
      if (ownBytes <= 0 || OWN_OFFSET + ownBytes > size) throw malformed('its size is wrong')
      return new ImageFile({ handle, base }, { superblock, delta })
    } catch (error) {
      await Promise.all([handle.close(), base?.close()])
      throw error
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#handle.close(), this.#base?.close()])
  }

  /** Returns bytes of the base's file. An image in a single file is its own base. */
  async readBase(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length)
    await readFully(this.#base ?? this.#handle, bytes, offset)
    return bytes
  }

  /** Returns bytes of metadata, from windows that are cached. */
  async read(offset: number, length: number): Promise<Buffer> {
    if (!(offset >= 0 && length >= 0 && offset + length <= this.sizeBytes))
      throw malformed('something lies past its end')
    const parts: Buffer[] = []
    for (let at = offset; at < offset + length; ) {
      const index = Math.floor(at / WINDOW_SIZE)
      const window = await this.#window(index)
      const from = at - index * WINDOW_SIZE
      const part = window.subarray(from, Math.min(window.length, from + offset + length - at))
      parts.push(part)
      at += part.length
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, length)
  }

  /** Yields content in large pieces. Each piece belongs to the caller. */
  async *stream(offset: number, length: number): AsyncGenerator<Buffer> {
    if (offset + length > this.sizeBytes) throw malformed('content lies past its end')
    for (let at = 0; at < length; ) {
      const piece = Buffer.allocUnsafe(Math.min(1 << 20, length - at))
      await this.#read(piece, offset + at)
      at += piece.length
      yield piece
    }
  }

  async #read(into: Buffer, offset: number): Promise<void> {
    if (this.delta === null) return readFully(this.#handle, into, offset)
    for (let done = 0; done < into.length; ) {
      const piece = pieceAt(this.delta.layout, offset + done, into.length - done)
      const handle = piece.file === 'base' ? this.#base : this.#handle
      if (handle === null) throw malformed('its base is not there')
      await readFully(handle, into.subarray(done, done + piece.length), piece.offset)
      done += piece.length
    }
  }

  #window(index: number): Promise<Buffer> {
    const known = this.#windows.get(index)
    if (known !== undefined) {
      this.#windows.delete(index)
      this.#windows.set(index, known)
      return known
    }
    const start = index * WINDOW_SIZE
    const window = Buffer.allocUnsafe(Math.min(WINDOW_SIZE, this.sizeBytes - start))
    const reading = this.#read(window, start).then(() => window)
    reading.catch(() => this.#windows.delete(index))
    this.#windows.set(index, reading)
    for (const oldest of this.#windows.keys()) {
      if (this.#windows.size <= MAX_WINDOWS) break
      this.#windows.delete(oldest)
    }
    return reading
  }
}

/** Returns the facts in the frame of a delta, or null for an image in a single file. */
function readDelta(block: Buffer, size: number): Delta | null {
  if (!hasDeltaFrame(block)) return null
  const bytes = block.subarray(SUPERBLOCK_OFFSET)
  checkSum(bytes)
  const slot = block.subarray(DEVICE_SLOT_OFFSET)
  const sha256 = slot.toString('latin1', 0, 64)
  const baseBytes = slot.readUInt32LE(64) * BLOCK_SIZE
  if (!/^[0-9a-f]{64}$/.test(sha256) || baseBytes < CHUNK_SIZE || size <= OWN_OFFSET)
    throw malformed('its base is wrong')
  return { layout: deltaOn(baseBytes), sha256, aloneBytes: Number(bytes.readBigUInt64LE(64)) }
}

function checkSum(bytes: Buffer): void {
  if (bytes.readUInt32LE(0) !== MAGIC) throw malformed('it is not an EROFS image')
  const sum = bytes.readUInt32LE(4)
  bytes.writeUInt32LE(0, 4)
  if (crc32c(bytes) !== sum) throw malformed('its checksum is wrong')
}

function checkSuperblock(bytes: Buffer, size: number): void {
  checkSum(bytes)
  if (bytes.readUInt8(12) !== BLOCK_SIZE_BITS || bytes.readUInt32LE(80) !== 0) {
    throw malformed('it has features that this package does not write')
  }
  const blocks = bytes.readUInt32LE(36)
  if (blocks * BLOCK_SIZE !== size || bytes.readUInt32LE(40) >= blocks) throw malformed('its size is wrong')
}

async function readFully(handle: FileHandle, into: Buffer, offset: number): Promise<void> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await handle.read(into, done, into.length - done, offset + done)
    if (bytesRead === 0) throw malformed('it ends early')
    done += bytesRead
  }
}
