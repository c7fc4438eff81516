import { BLOCK_SIZE, roundUp } from './format.ts'

/**
 * The places of the parts of a delta. A delta is the file of an image that shares content with a
 * base, which is an image in its own file. The *whole* is the image as readers see it. It consists
 * of its first chunk, the base's blocks after that, and the content that the base does not have.
 * The delta's file has only the first and the last of these:
 *
 *     file:   frame | head | tail | own content and metadata of the whole | table of the frame
 *     whole:          head |  the base's chunks  | tail | own content and metadata
 *
 * `head` is the base's first chunk with the superblock of the whole. `tail` is the base's last
 * chunk if it is not full. The frame is also an EROFS image. Its one file, `image`, has the chunks
 * of the whole, so the kernel joins both files into one (`device=`,
 * https://docs.kernel.org/filesystems/erofs.html).
 */
export interface DeltaLayout {
  /** The size of the base's file in bytes. */
  readonly baseBytes: number
  /**
   * The offset in the whole at which the base ends, including its tail. A multiple of `CHUNK_SIZE`.
   */
  readonly ownStart: number
}

/**
 * The blocks of one chunk as a power of two. A chunk has 64 KiB, so the table has 8 bytes for each
 * 64 KiB.
 */
export const CHUNK_BITS = 4
/** The size of one chunk in bytes. */
export const CHUNK_SIZE = BLOCK_SIZE << CHUNK_BITS
/** The offset of the whole's first chunk in the delta's file. */
export const HEAD_OFFSET = 1 * CHUNK_SIZE
/** The offset of the base's last chunk in the delta's file. */
export const TAIL_OFFSET = 2 * CHUNK_SIZE
/** The offset in the delta's file of the content that the base does not have. */
export const OWN_OFFSET = 3 * CHUNK_SIZE
/** The name of the whole in the frame. */
export const WHOLE_NAME = 'image'

/** A part of a whole that lies in one file. */
export interface Piece {
  readonly file: 'base' | 'delta'
  /** The offset in that file, in bytes. */
  readonly offset: number
  readonly length: number
}

/** Returns the layout of a delta on a base of this size, in bytes. */
export function deltaOn(baseBytes: number): DeltaLayout {
  return { baseBytes, ownStart: roundUp(baseBytes, CHUNK_SIZE) }
}

/** Returns the piece that begins at `offset` of the whole, with at most `length` bytes. */
export function pieceAt({ baseBytes, ownStart }: DeltaLayout, offset: number, length: number): Piece {
  const tailStart = baseBytes - (baseBytes % CHUNK_SIZE)
  if (offset < CHUNK_SIZE) return delta(HEAD_OFFSET + offset, Math.min(length, CHUNK_SIZE - offset))
  if (offset < tailStart) return { file: 'base', offset, length: Math.min(length, tailStart - offset) }
  if (offset < ownStart) return delta(TAIL_OFFSET + offset - tailStart, Math.min(length, ownStart - offset))
  return delta(OWN_OFFSET + offset - ownStart, length)
}

function delta(offset: number, length: number): Piece {
  return { file: 'delta', offset, length }
}
