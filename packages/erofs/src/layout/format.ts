/**
 * The on-disk format, as far as this package uses it. The exponent of the block size. Source: the
 * kernel's `fs/erofs/erofs_fs.h` and https://docs.kernel.org/filesystems/erofs.html
 */
export const BLOCK_SIZE_BITS = 12
/** The size of a block in bytes. It equals the page size, which runsc and older kernels require. */
export const BLOCK_SIZE = 1 << BLOCK_SIZE_BITS
/** The offset of the superblock in block 0. */
export const SUPERBLOCK_OFFSET = 1024
/** The unit of inode offsets, in bytes. The number of an inode (nid) is its offset in this unit. */
export const SLOT_SIZE = 32
/**
 * The size of an extended inode in bytes. It has a 32-bit owner, a 64-bit size, and its own mtime.
 */
export const INODE_SIZE = 64
/** The size of a directory entry without its name, in bytes. */
export const DIRENT_SIZE = 12

/** `i_format` of an extended inode with data in blocks of its own. */
export const FORMAT_FLAT_PLAIN = 1 | (0 << 1)
/** `i_format` of an extended inode with its last partial block right behind it. */
export const FORMAT_FLAT_INLINE = 1 | (2 << 1)

/** `i_format` of an extended inode with a table of its chunks behind it. */
export const FORMAT_CHUNKED = 1 | (4 << 1)

/** The `S_IFMT` bits and the type in directory entries, by type of inode. */
export const FILE_TYPES = {
  file: { mode: 0o100000, dirent: 1 },
  directory: { mode: 0o040000, dirent: 2 },
  char: { mode: 0o020000, dirent: 3 },
  block: { mode: 0o060000, dirent: 4 },
  fifo: { mode: 0o010000, dirent: 5 },
  symlink: { mode: 0o120000, dirent: 7 },
} as const

/**
 * Returns `size` rounded up to a multiple of `unit`, which is a power of two. Exact beyond 32 bits.
 */
export function roundUp(size: number, unit: number): number {
  return Math.ceil(size / unit) * unit
}

/**
 * The version of the writer. It rises with every change by which the same entries give other bytes.
 * An image of an older writer may have a fault that is fixed now.
 */
export const WRITER_VERSION = 2
