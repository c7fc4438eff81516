import type { FileHandle } from 'node:fs/promises'
import { BLOCK_SIZE, roundUp } from '../layout/format.ts'

/** Bytes gathered for one write: large enough that the system call does not show. */
const BUFFER_SIZE = 1 << 20
/** Zero blocks in a row that become a hole; fewer would cost more in fragments than they save. */
const MIN_HOLE_BLOCKS = 16
const ZERO_BLOCK = Buffer.alloc(BLOCK_SIZE)

/**
 * Appends to an image block by block, in constant memory; one buffer is written while the other is
 * filled.
 */
export class BlockWriter {
  readonly #handle: FileHandle
  #filling = Buffer.allocUnsafe(BUFFER_SIZE)
  #spare = Buffer.allocUnsafe(BUFFER_SIZE)
  #used = 0
  /** Where the buffer goes in the file. */
  #offset: number
  /** How much further a byte is in the image than in the file. */
  readonly #lead: number
  #writing: Promise<void> = Promise.resolve()

  /**
   * Starts at `offset` of the file and `position` of the image: behind block 0, which the
   * superblock gets at the end, unless told otherwise.
   */
  constructor(handle: FileHandle, { offset, position } = { offset: BLOCK_SIZE, position: BLOCK_SIZE }) {
    this.#handle = handle
    this.#offset = offset
    this.#lead = position - offset
  }

  /** Bytes of the image so far. */
  get position(): number {
    return this.#offset + this.#lead + this.#used
  }

  /** Bytes of the file so far. */
  get fileBytes(): number {
    return this.#offset + this.#used
  }

  /**
   * Copies the bytes. Answers null when there was room for them, which is the usual case and not
   * worth a promise.
   */
  write(bytes: Uint8Array): Promise<void> | null {
    if (bytes.length > BUFFER_SIZE - this.#used) return this.#writeAcross(bytes)
    this.#filling.set(bytes, this.#used)
    this.#used += bytes.length
    return null
  }

  /** Forgets all that was written from a position on, at which a block begins. */
  async rewind(position: number): Promise<void> {
    const offset = position - this.#lead
    if (offset < this.#offset) {
      await this.#writing
      // What is there would show through holes.
      await this.#handle.truncate(offset)
      this.#offset = offset
    }
    this.#used = offset - this.#offset
  }

  /** Zeros up to the next multiple of `unit`, which divides the block size. */
  align(unit: number): void {
    const end = roundUp(this.#used, unit)
    this.#filling.fill(0, this.#used, end)
    this.#used = end
  }

  /** Waits until all is written, and makes the file as long as the image is. */
  async finish(): Promise<void> {
    this.align(BLOCK_SIZE)
    await this.#flush()
    await this.#writing
    await this.#handle.truncate(this.#offset)
  }

  /** Waits for a write under way, whatever its outcome, so that the file can be closed. */
  async settle(): Promise<void> {
    await this.#writing.catch(() => {
      // The error that ended the work is already on its way to the caller.
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
    // A failure is thrown by the next flush or by finish; until then it must not count as
    // unhandled.
    this.#writing.catch(() => {})
    this.#offset += this.#used
    this.#used = 0
    const next = this.#spare
    this.#spare = this.#filling
    this.#filling = next
  }
}

/** Writes what is not zero; the rest stays a hole. */
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

/** Writes all of it: a single write may stop short. */
export async function writeAll(handle: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, offset + done)
    done += bytesWritten
  }
}
