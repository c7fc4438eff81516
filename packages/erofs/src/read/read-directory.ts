import { setImmediate } from 'node:timers/promises'
import { BLOCK_SIZE, DIRENT_SIZE } from '../layout/format.ts'
import { type ImageInode, readSmallContent } from './decode-inode.ts'
import type { ImageFile } from './image-file.ts'
import { malformed } from './malformed.ts'

/** The maximum size of a directory in bytes, enough for some millions of names. */
const MAX_DIRECTORY_BYTES = 256 * 2 ** 20

/** The number of blocks between two turns of the event loop. */
const BLOCKS_PER_TURN = 64

/**
 * Returns the names in a directory without `.` and `..`, one character per byte, with the numbers
 * of their inodes.
 */
export async function readDirectory(file: ImageFile, inode: ImageInode): Promise<Map<string, number>> {
  const content = await readSmallContent(file, inode, MAX_DIRECTORY_BYTES)
  const names = new Map<string, number>()
  for (let at = 0; at < content.length; at += BLOCK_SIZE) {
    if ((at / BLOCK_SIZE) % BLOCKS_PER_TURN === BLOCKS_PER_TURN - 1) await setImmediate()
    decodeBlock(content.subarray(at, at + BLOCK_SIZE), names)
  }
  names.delete('.')
  names.delete('..')
  return names
}

/**
 * Decodes entries of 12 bytes. The first one states the offset of the first name. A name ends at
 * the next name, or at a zero byte.
 */
function decodeBlock(block: Buffer, names: Map<string, number>): void {
  const count = block.length < DIRENT_SIZE ? 0 : block.readUInt16LE(8) / DIRENT_SIZE
  if (!Number.isInteger(count) || count < 1 || count * DIRENT_SIZE > block.length)
    throw malformed('a directory is broken')
  for (let index = 0; index < count; index += 1) {
    const at = index * DIRENT_SIZE
    const start = block.readUInt16LE(at + 8)
    const end = index + 1 < count ? block.readUInt16LE(at + DIRENT_SIZE + 8) : endOfLast(block, start)
    if (start > end || end > block.length) throw malformed('a directory has a name past its block')
    const name = block.toString('latin1', start, end)
    if (name === '' || /[/\0]/.test(name)) throw malformed('a directory has an invalid name')
    names.set(name, block.readUInt32LE(at))
  }
}

function endOfLast(block: Buffer, start: number): number {
  const zero = block.indexOf(0, start)
  return zero === -1 ? block.length : zero
}
