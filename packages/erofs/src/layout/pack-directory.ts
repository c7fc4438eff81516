import { BLOCK_SIZE, DIRENT_SIZE, FILE_TYPES, SLOT_SIZE } from './format.ts'
import type { DirectoryInode, Inode } from './inode.ts'

/** The division of a directory's entries into blocks. It is known before any inode has a number. */
export interface PackedDirectory {
  /** All names in byte order, including `.` and `..`. */
  readonly names: readonly string[]
  /** The index of the first name of each block. */
  readonly blockStarts: readonly number[]
  /** The size of the directory in bytes: full blocks, and the used part of the last block. */
  readonly size: number
}

/** Fills blocks with the names in byte order, as the binary search of lookups requires. */
export function packDirectory(directory: DirectoryInode): PackedDirectory {
  const names = ['.', '..', ...(directory.children?.keys() ?? [])].sort()
  const blockStarts = [0]
  let used = 0
  for (const [index, name] of names.entries()) {
    const need = DIRENT_SIZE + name.length
    if (used + need > BLOCK_SIZE) {
      blockStarts.push(index)
      used = 0
    }
    used += need
  }
  return { names, blockStarts, size: (blockStarts.length - 1) * BLOCK_SIZE + used }
}

/** Encodes one block of directory entries, with zeros behind them. All inodes must be placed. */
export function encodeDirectoryBlock(directory: DirectoryInode, packed: PackedDirectory, block: number): Buffer {
  const start = packed.blockStarts[block] ?? packed.names.length
  const names = packed.names.slice(start, packed.blockStarts[block + 1])
  const bytes = Buffer.alloc(BLOCK_SIZE)
  let nameOffset = names.length * DIRENT_SIZE
  for (const [index, name] of names.entries()) {
    const inode = childOf(directory, name)
    const at = index * DIRENT_SIZE
    bytes.writeUInt32LE(inode.offset / SLOT_SIZE, at)
    bytes.writeUInt16LE(nameOffset, at + 8)
    bytes.writeUInt8(FILE_TYPES[inode.type].dirent, at + 10)
    nameOffset += bytes.write(name, nameOffset, 'latin1')
  }
  return bytes
}

function childOf(directory: DirectoryInode, name: string): Inode {
  if (name === '.') return directory
  if (name === '..') return directory.parent ?? directory
  const child = directory.children?.get(name)
  if (child === undefined) throw new Error('a packed name is not in its directory')
  return child
}
