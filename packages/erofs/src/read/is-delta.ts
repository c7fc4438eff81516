import { open } from 'node:fs/promises'
import { FEATURES_OF_DELTA, MAGIC } from '../layout/encode-superblock.ts'
import { BLOCK_SIZE, SUPERBLOCK_OFFSET } from '../layout/format.ts'

/**
 * Returns true if the first block of an image is that of a delta, which needs the file of its base.
 * Nothing else in the file is checked.
 */
export async function isDelta(path: string): Promise<boolean> {
  const handle = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BLOCK_SIZE), 0, BLOCK_SIZE, 0)
    return bytesRead === BLOCK_SIZE && hasDeltaFrame(buffer)
  } finally {
    await handle.close()
  }
}

/** Returns true if block 0 marks its file as a delta. */
export function hasDeltaFrame(block: Buffer): boolean {
  const bytes = block.subarray(SUPERBLOCK_OFFSET)
  return bytes.readUInt32LE(0) === MAGIC && bytes.readUInt32LE(80) === FEATURES_OF_DELTA
}
