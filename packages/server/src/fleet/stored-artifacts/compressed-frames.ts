import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { ObjectStoreError } from '@holt/object-store'
import { piecesOfSizes } from './pieces-of-sizes.ts'

/** The content of one frame. Each frame can be read without those before it. */
const frameBytes = 4 * 2 ** 20

/** The level at which memory shrinks to a third, faster than a network takes it. */
const level = 1

/**
 * Compresses a sequence into frames of zstd (RFC 8878). Calls `onFrame` with the size of each. All
 * frames together are what the program `zstd` reads.
 */
export async function* compressFrames(
  content: AsyncIterable<Uint8Array>,
  onFrame: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const params = { [zlib.constants.ZSTD_c_compressionLevel]: level, [zlib.constants.ZSTD_c_checksumFlag]: 1 }
  const compress = promisify(zlib.zstdCompress)
  for await (const piece of piecesOfSizes(content, () => frameBytes)) {
    const frame = await compress(piece, { params })
    onFrame(frame.length)
    yield frame
  }
}

/** The frames of a file. */
export interface Frames {
  /** The sizes of all frames. */
  readonly sizes: readonly number[]
  /** The size of the whole content. */
  readonly contentBytes: number
}

/** The frames that have a range of the content. */
export interface FrameRange {
  readonly firstFrame: number
  /** The range of the frames in the compressed file. */
  readonly start: number
  readonly end: number
  /** The bytes of the first frame before the range. */
  readonly skip: number
}

/** Returns the frames that have the bytes from `start` to `end` of the content. */
export function framesOf(
  { start, end }: { readonly start: number; readonly end: number },
  { sizes }: Frames,
): FrameRange {
  const firstFrame = Math.floor(start / frameBytes)
  const begin = sum(sizes.slice(0, firstFrame))
  const length = sum(sizes.slice(firstFrame, Math.ceil(end / frameBytes)))
  return { firstFrame, start: begin, end: begin + length, skip: start - firstFrame * frameBytes }
}

/** Decompresses frames from one of them on. Fails with `damaged` for other content. */
export async function* decompressFrames(
  compressed: AsyncIterable<Uint8Array>,
  { sizes, contentBytes }: Frames,
  { firstFrame, name }: { readonly firstFrame: number; readonly name: string },
): AsyncGenerator<Uint8Array> {
  const decompress = promisify(zlib.zstdDecompress)
  let index = firstFrame
  for await (const frame of piecesOfSizes(compressed, (at) => sizes[firstFrame + at] ?? 0)) {
    const expected = Math.min(frameBytes, contentBytes - index * frameBytes)
    const content = await decompress(frame, { maxOutputLength: frameBytes }).catch((error: unknown) => {
      throw damaged(name, error)
    })
    if (content.length !== expected) throw damaged(name)
    yield content
    index += 1
  }
}

function damaged(name: string, cause?: unknown): ObjectStoreError {
  return new ObjectStoreError('damaged', `${name}: the compressed bytes are damaged`, { cause })
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
