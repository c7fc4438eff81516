/** What all inodes have. Placement fills in `offset` when the tree is complete. */
interface InodeCommon {
  mode: number
  uid: number
  gid: number
  mtimeSecs: number
  mtimeNanos: number
  /** The encoded extended attributes, or null. */
  xattrs: Buffer | null
  /** How many directory entries name it; for a directory 2 plus its subdirectories. */
  nlink: number
  /** Byte offset in the metadata area; -1 until placed. */
  offset: number
  /** First block of its own data; 0 when it has none. */
  firstBlock: number
}

/** A regular file; its content is in the image already. */
export interface FileInode extends InodeCommon {
  readonly type: 'file'
  readonly size: number
}

/**
 * A directory. Names are strings with one character per byte, so that `<` orders them as EROFS
 * does.
 */
export interface DirectoryInode extends InodeCommon {
  readonly type: 'directory'
  readonly parent: DirectoryInode | null
  /** Null as long as it is empty: an image may have millions of empty directories. */
  children: Map<string, Inode> | null
}

/** A symbolic link; the target has one character per byte. */
interface SymlinkInode extends InodeCommon {
  readonly type: 'symlink'
  readonly target: string
}

/** A FIFO or a device node; `rdev` in the kernel's 32-bit encoding. */
interface SpecialInode extends InodeCommon {
  readonly type: 'fifo' | 'char' | 'block'
  readonly rdev: number
}

/** A node of the tree in memory, without content. */
export type Inode = FileInode | DirectoryInode | SymlinkInode | SpecialInode
