import { BLOCK_SIZE, roundUp } from './format.ts'

/**
 * Where the parts of a delta lie. A delta is the file of an image that shares the content of a
 * base, which is an image of its own file. The *whole* is the image as readers see it: its first
 * chunk, the base's blocks from there on, and what the base does not have. The delta's file has
 * only the first and the last of these:
 *
 *     file:   frame | head | tail | own content and metadata of the whole | table of the frame
 *     whole:          head |  the base's chunks  | tail | own content and metadata
 *
 * `head` is the base's first chunk with the superblock of the whole, `tail` the base's last chunk
 * where that is not full. The frame is an EROFS image as well: it has one file, `image`, whose
 * chunks are those of the whole. So the kernel makes one file of both (`device=`,
 * https://docs.kernel.org/filesystems/erofs.html).
 */
export interface DeltaLayout {
  /** Bytes of the base's file. */
  readonly baseBytes: number
  /** Where in the whole the base ends, its tail included. A multiple of `CHUNK_SIZE`. */
  readonly ownStart: number
}

/** Blocks of one chunk as a power of two: 64 KiB, so that the table has 8 bytes for each 64 KiB. */
export const CHUNK_BITS = 4
/** Bytes of one chunk. */
export const CHUNK_SIZE = BLOCK_SIZE << CHUNK_BITS
/** Where the first chunk of the whole stands in the delta's file. */
export const HEAD_OFFSET = 1 * CHUNK_SIZE
/** Where the last chunk of the base stands. */
export const TAIL_OFFSET = 2 * CHUNK_SIZE
/** Where that begins which the base does not have. */
export const OWN_OFFSET = 3 * CHUNK_SIZE
/** The name of the whole in the frame. */
export const WHOLE_NAME = 'image'

/** A part of a whole that lies in one file. */
export interface Piece {
  readonly file: 'base' | 'delta'
  /** Where it begins in that file, in bytes. */
  readonly offset: number
  readonly length: number
}

/** The layout of a delta on a base of this size. */
export function deltaOn(baseBytes: number): DeltaLayout {
  return { baseBytes, ownStart: roundUp(baseBytes, CHUNK_SIZE) }
}

/** Where the bytes at `offset` of the whole lie, no more of them than are in one piece. */
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
