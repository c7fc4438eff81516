import type { FileHandle } from 'node:fs/promises'
import { BLOCK_SIZE, roundUp } from '../layout/format.ts'

/**
 * The bytes that are gathered for one write, enough to make the cost of the system call negligible.
 */
const BUFFER_SIZE = 1 << 20
/**
 * The consecutive zero blocks that become a hole. Fewer would cost more in fragments than they
 * save.
 */
const MIN_HOLE_BLOCKS = 16
const ZERO_BLOCK = Buffer.alloc(BLOCK_SIZE)

/**
 * Appends to an image block by block, in constant memory. One buffer is written while the other is
 * filled.
 */
export class BlockWriter {
  readonly #handle: FileHandle
  #filling = Buffer.allocUnsafe(BUFFER_SIZE)
  #spare = Buffer.allocUnsafe(BUFFER_SIZE)
  #used = 0
  /** The offset of the buffer in the file. */
  #offset: number
  /** The position of a byte in the image minus its offset in the file. */
  readonly #lead: number
  #writing: Promise<void> = Promise.resolve()

  /**
   * Starts at `offset` of the file and `position` of the image. The default is behind block 0,
   * which gets the superblock at the end.
   */
  constructor(handle: FileHandle, { offset, position } = { offset: BLOCK_SIZE, position: BLOCK_SIZE }) {
    this.#handle = handle
    this.#offset = offset
    this.#lead = position - offset
  }

  /** The bytes of the image so far. */
  get position(): number {
    return this.#offset + this.#lead + this.#used
  }

  /** The bytes of the file so far. */
  get fileBytes(): number {
    return this.#offset + this.#used
  }

  /**
   * Copies the bytes. Returns null if the buffer had room for them. That is the usual case, which
   * saves a promise.
   */
  write(bytes: Uint8Array): Promise<void> | null {
    if (bytes.length > BUFFER_SIZE - this.#used) return this.#writeAcross(bytes)
    this.#filling.set(bytes, this.#used)
    this.#used += bytes.length
    return null
  }

  /** Discards all bytes from a position on. A block must begin there. */
  async rewind(position: number): Promise<void> {
    const offset = position - this.#lead
    if (offset < this.#offset) {
      await this.#writing
      // The old bytes would show through holes.
      await this.#handle.truncate(offset)
      this.#offset = offset
    }
    this.#used = offset - this.#offset
  }

  /** Appends zeros up to the next multiple of `unit`, which divides the block size. */
  align(unit: number): void {
    const end = roundUp(this.#used, unit)
    this.#filling.fill(0, this.#used, end)
    this.#used = end
  }

  /** Waits until all bytes are written, and sets the length of the file. */
  async finish(): Promise<void> {
    this.align(BLOCK_SIZE)
    await this.#flush()
    await this.#writing
    await this.#handle.truncate(this.#offset)
  }

  /** Waits until a pending write ends or fails, so that the file can be closed. */
  async settle(): Promise<void> {
    await this.#writing.catch(() => {
      // The caller already gets the error that stopped the work.
    })
  }

  async #writeAcross(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + BUFFER_SIZE - this.#used)
      this.#filling.set(part, this.#used)
      this.#used += part.length
      at += part.length
      if (this.#used === BUFFER_SIZE) await this.#flush()
    }
  }

  async #flush(): Promise<void> {
    await this.#writing
    const full = this.#filling.subarray(0, this.#used)
    this.#writing = writeData(this.#handle, full, this.#offset)
    // The next flush, or `finish`, throws a failure. Until then it must not count as unhandled.
    this.#writing.catch(() => {})
    this.#offset += this.#used
    this.#used = 0
    const next = this.#spare
    this.#spare = this.#filling
    this.#filling = next
  }
}

/** Writes the bytes, and leaves long runs of zeros as holes. */
async function writeData(handle: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  let start = 0
  let zeros = 0
  for (let at = 0; at < bytes.length; at += BLOCK_SIZE) {
    if (isZero(bytes, at)) {
      zeros += 1
      continue
    }
    if (zeros >= MIN_HOLE_BLOCKS) {
      await writeAll(handle, bytes.subarray(start, at - zeros * BLOCK_SIZE), offset + start)
      start = at
    }
    zeros = 0
  }
  const end = zeros >= MIN_HOLE_BLOCKS ? bytes.length - zeros * BLOCK_SIZE : bytes.length
  await writeAll(handle, bytes.subarray(start, end), offset + start)
}

function isZero(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0 && bytes.compare(ZERO_BLOCK, 0, BLOCK_SIZE, at, at + BLOCK_SIZE) === 0
}

/** Writes all bytes. A single write may be partial. */
export async function writeAll(handle: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, offset + done)
    done += bytesWritten
  }
}
