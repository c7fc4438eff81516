/**
 * The on-disk format, as far as this package uses it.
 * Source: the kernel's `fs/erofs/erofs_fs.h` and https://docs.kernel.org/filesystems/erofs.html
 */
export const BLOCK_SIZE_BITS = 12
/** Bytes of a block; equals the page size, which runsc and older kernels demand. */
export const BLOCK_SIZE = 1 << BLOCK_SIZE_BITS
/** Where the superblock starts in block 0. */
export const SUPERBLOCK_OFFSET = 1024
/** Inodes stand at multiples of this; the multiple is the inode's number (nid). */
export const SLOT_SIZE = 32
/** Bytes of an extended inode: 32-bit owner, 64-bit size, mtime of its own. */
export const INODE_SIZE = 64
/** Bytes of a directory entry, without its name. */
export const DIRENT_SIZE = 12

/** `i_format` of an extended inode whose data stands in blocks of its own. */
export const FORMAT_FLAT_PLAIN = 1 | (0 << 1)
/** `i_format` of an extended inode whose last partial block stands right behind it. */
export const FORMAT_FLAT_INLINE = 1 | (2 << 1)

/** `i_format` of an extended inode whose chunks stand where a table behind it says. */
export const FORMAT_CHUNKED = 1 | (4 << 1)

/** The `S_IFMT` bits and the directory entry's type, by type of inode. */
export const FILE_TYPES = {
  file: { mode: 0o100000, dirent: 1 },
  directory: { mode: 0o040000, dirent: 2 },
  char: { mode: 0o020000, dirent: 3 },
  block: { mode: 0o060000, dirent: 4 },
  fifo: { mode: 0o010000, dirent: 5 },
  symlink: { mode: 0o120000, dirent: 7 },
} as const

/** `size` rounded up to a multiple of `unit`, which is a power of two. Exact beyond 32 bits. */
export function roundUp(size: number, unit: number): number {
  return Math.ceil(size / unit) * unit
}

/**
 * Rises with every change by which the same entries give other bytes: an image of an older writer
 * may have what was wrong then.
 */
export const WRITER_VERSION = 2
