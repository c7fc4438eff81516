import { FILE_TYPES, FORMAT_FLAT_INLINE, FORMAT_FLAT_PLAIN, INODE_SIZE } from './format.ts'
import type { Inode } from './inode.ts'

/** The fields of an encoded inode that are not in the tree. */
export interface InodeFields {
  /** The bytes of content: of the file, the symlink target or the directory's entries. */
  readonly size: number
  /** True if the last partial block is right behind the inode. */
  readonly inline: boolean
  /** A number for 32-bit `stat`, unique in the image. */
  readonly ino: number
}

/**
 * Encodes the extended inode (`struct erofs_inode_extended`) and its extended attributes behind it.
 */
export function encodeInode(inode: Inode, fields: InodeFields): Buffer {
  const xattrBytes = inode.xattrs?.length ?? 0
  const bytes = Buffer.alloc(INODE_SIZE + xattrBytes)
  bytes.writeUInt16LE(fields.inline ? FORMAT_FLAT_INLINE : FORMAT_FLAT_PLAIN, 0)
  // The header of the attributes counts as one unit of 4 bytes, although it has 12.
  bytes.writeUInt16LE(xattrBytes === 0 ? 0 : (xattrBytes - 12) / 4 + 1, 2)
  bytes.writeUInt16LE(FILE_TYPES[inode.type].mode | inode.mode, 4)
  bytes.writeBigUInt64LE(BigInt(fields.size), 8)
  bytes.writeUInt32LE('rdev' in inode ? inode.rdev : inode.firstBlock, 16)
  bytes.writeUInt32LE(fields.ino, 20)
  bytes.writeUInt32LE(inode.uid, 24)
  bytes.writeUInt32LE(inode.gid, 28)
  bytes.writeBigInt64LE(BigInt(inode.mtimeSecs), 32)
  bytes.writeUInt32LE(inode.mtimeNanos, 40)
  bytes.writeUInt32LE(inode.nlink, 44)
  if (inode.xattrs !== null) bytes.set(inode.xattrs, INODE_SIZE)
  return bytes
}
