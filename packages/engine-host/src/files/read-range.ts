import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { type ByteRange, EngineError, isInside } from '@holt/engine'
import { hasCode } from './durable-files.ts'

/** The bytes that are read at once. */
const PART_BYTES = 256 * 1024

/**
 * Opens a part of a file. It is open until it is read to its end or abandoned, or the signal ends.
 * Kind `not_found` if there is no such file, `invalid` if the range is outside.
 */
export async function readRange(
  path: string,
  range: ByteRange,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  signal.throwIfAborted()
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error
    throw new EngineError('not_found', `there is no file ${path}`, { cause: error })
  })
  try {
    const { size } = await handle.stat()
    const { offset, length } = range
    if (!isInside(range, size))
      throw new EngineError('invalid', `the range ${offset}+${length} is outside of ${path}, which has ${size} bytes`)
    if (length > 0)
      return handle.createReadStream({ start: offset, end: offset + length - 1, highWaterMark: PART_BYTES, signal })
  } catch (error) {
    await handle.close()
    throw error
  }
  await handle.close()
  return nothing()
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
