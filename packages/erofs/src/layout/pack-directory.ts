import type { DirectoryInode, Inode } from '../tree/inode.ts'
import { BLOCK_SIZE, DIRENT_SIZE, FILE_TYPES, SLOT_SIZE } from './format.ts'

/** How the entries of a directory fall into blocks. Known before any inode has a number. */
export interface PackedDirectory {
  /** All names with `.` and `..`, in byte order. */
  readonly names: readonly string[]
  /** Per block the index of its first name. */
  readonly blockStarts: readonly number[]
  /** Bytes of the whole directory: full blocks, and what the last one uses. */
  readonly size: number
}

/** Fills blocks with the names in byte order, as lookups by binary search need them. */
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

/** One block of directory entries, zero-filled behind what it uses. All inodes must be placed. */
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
