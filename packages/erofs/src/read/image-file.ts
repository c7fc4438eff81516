import { type FileHandle, open } from 'node:fs/promises'
import { crc32c } from '../layout/crc32c.ts'
import { MAGIC } from '../layout/encode-superblock.ts'
import { BLOCK_SIZE, BLOCK_SIZE_BITS, SUPERBLOCK_OFFSET } from '../layout/format.ts'
import { malformed } from './malformed.ts'

/** Bytes read at once of what is not content. */
const WINDOW_SIZE = 1 << 16
/** Windows kept: 16 MiB. */
const MAX_WINDOWS = 256

/** An image's file: its superblock, checked, and reads that stay within it. */
export class ImageFile {
  readonly handle: FileHandle
  readonly sizeBytes: number
  readonly rootNid: number
  readonly inodes: number
  /** Where inodes begin, in bytes. */
  readonly metadataOffset: number
  readonly #windows = new Map<number, Promise<Buffer>>()

  private constructor(handle: FileHandle, sizeBytes: number, superblock: Buffer) {
    this.handle = handle
    this.sizeBytes = sizeBytes
    this.rootNid = superblock.readUInt16LE(14)
    this.inodes = Number(superblock.readBigUInt64LE(16))
    this.metadataOffset = superblock.readUInt32LE(40) * BLOCK_SIZE
  }

  /** Opens an image that `writeImage` has written; anything else is `image_malformed`. */
  static async open(path: string): Promise<ImageFile> {
    const handle = await open(path, 'r')
    try {
      const { size } = await handle.stat()
      const block = Buffer.alloc(BLOCK_SIZE)
      if (size < BLOCK_SIZE || size % BLOCK_SIZE !== 0) throw malformed(`it has ${size} bytes`)
      await readFully(handle, block, 0)
      const superblock = block.subarray(SUPERBLOCK_OFFSET)
      checkSuperblock(superblock, size)
      return new ImageFile(handle, size, superblock)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Bytes of metadata, from windows that are kept for a while. */
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

  /** Content, in large pieces; each piece is the reader's own. */
  async *stream(offset: number, length: number): AsyncGenerator<Buffer> {
    if (offset + length > this.sizeBytes) throw malformed('content lies past its end')
    for (let at = 0; at < length; ) {
      const piece = Buffer.allocUnsafe(Math.min(1 << 20, length - at))
      await readFully(this.handle, piece, offset + at)
      at += piece.length
      yield piece
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
    const reading = readFully(this.handle, window, start).then(() => window)
    reading.catch(() => this.#windows.delete(index))
    this.#windows.set(index, reading)
    for (const oldest of this.#windows.keys()) {
      if (this.#windows.size <= MAX_WINDOWS) break
      this.#windows.delete(oldest)
    }
    return reading
  }
}

function checkSuperblock(bytes: Buffer, size: number): void {
  if (bytes.readUInt32LE(0) !== MAGIC) throw malformed('it is no EROFS image')
  const sum = bytes.readUInt32LE(4)
  bytes.writeUInt32LE(0, 4)
  if (crc32c(bytes) !== sum) throw malformed('its checksum is wrong')
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
