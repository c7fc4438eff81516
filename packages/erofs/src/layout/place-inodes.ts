import { setImmediate } from 'node:timers/promises'
import { BLOCK_SIZE, INODE_SIZE, roundUp, SLOT_SIZE } from './format.ts'
import type { DirectoryInode, Inode } from './inode.ts'
import { type PackedDirectory, packDirectory } from './pack-directory.ts'

/** An inode with all that is needed to write it. */
export interface PlacedInode {
  readonly inode: Inode
  readonly size: number
  readonly inline: boolean
  /** Null except for a directory. */
  readonly packed: PackedDirectory | null
}

/** The places of everything but file content. */
export interface Placement {
  /** The inodes in the order of their offsets, which is also the order of their own blocks. */
  readonly inodes: readonly PlacedInode[]
  /** The first block of the metadata area, behind the content of directories and symlinks. */
  readonly metadataBlock: number
  readonly metadataBytes: number
}

/** The number of inodes that are placed between two turns of the event loop. */
const INODES_PER_TURN = 8192

/**
 * Sets the offset of every inode, and the blocks of directories and long symlinks from `nextBlock`
 * on. The root comes first, so that its number fits 16 bits. The children of each directory follow
 * side by side.
 */
export async function placeInodes(root: DirectoryInode, nextBlock: number): Promise<Placement> {
  const inodes: PlacedInode[] = []
  let block = nextBlock
  // Number 0 stays free: readers of directories take it for a deleted entry.
  let end = INODE_SIZE

  const place = (inode: Inode): void => {
    const packed = inode.type === 'directory' ? packDirectory(inode) : null
    const size = sizeOf(inode, packed)
    const head = INODE_SIZE + (inode.xattrs?.length ?? 0)
    const tail = inode.type === 'file' ? 0 : size % BLOCK_SIZE
    const inline = tail > 0 && head + tail <= BLOCK_SIZE
    inode.offset = startOf(end, inline ? head + tail : INODE_SIZE)
    end = inode.offset + head + (inline ? tail : 0)
    if (inode.type !== 'file') {
      const blocks = inline ? (size - tail) / BLOCK_SIZE : Math.ceil(size / BLOCK_SIZE)
      inode.firstBlock = blocks === 0 ? 0 : block
      block += blocks
    }
    inodes.push({ inode, size, inline, packed })
  }

  place(root)
  for (let index = 0; index < inodes.length; index += 1) {
    const inode = inodes[index]?.inode
    if (inode?.type !== 'directory') continue
    for (const name of inodes[index]?.packed?.names ?? []) {
      const child = inode.children?.get(name)
      if (child === undefined || child.offset !== -1) continue
      place(child)
      if (inodes.length % INODES_PER_TURN === 0) await setImmediate()
    }
  }
  // fsck.erofs 1.5 reads a header of attributes behind every inode. Without the last slot it would
  // read past the end of the file.
  return { inodes, metadataBlock: block, metadataBytes: roundUp(end, SLOT_SIZE) + SLOT_SIZE }
}

function sizeOf(inode: Inode, packed: PackedDirectory | null): number {
  if (packed !== null) return packed.size
  if (inode.type === 'file') return inode.size
  return inode.type === 'symlink' ? inode.target.length : 0
}

/**
 * Returns the next slot from which `length` bytes stay within a block. Neither an inode nor inline
 * data may cross a block.
 */
function startOf(end: number, length: number): number {
  const slot = roundUp(end, SLOT_SIZE)
  return (slot % BLOCK_SIZE) + length > BLOCK_SIZE ? roundUp(slot, BLOCK_SIZE) : slot
}
