/** The fields of every inode. `offset` is set when the complete tree is placed. */
interface InodeCommon {
  mode: number
  uid: number
  gid: number
  mtimeSecs: number
  mtimeNanos: number
  /** The encoded extended attributes, or null. */
  xattrs: Buffer | null
  /**
   * The number of directory entries that name the inode. For a directory: 2 plus the number of its
   * subdirectories.
   */
  nlink: number
  /** The byte offset in the metadata area, or -1 until the inode is placed. */
  offset: number
  /** The first block of the inode's own data, or 0 if it has none. */
  firstBlock: number
}

/** A regular file. Its content is already in the image. */
export interface FileInode extends InodeCommon {
  readonly type: 'file'
  readonly size: number
}

/** A directory. Names have one character per byte, so that `<` orders them as EROFS does. */
export interface DirectoryInode extends InodeCommon {
  readonly type: 'directory'
  readonly parent: DirectoryInode | null
  /** Null while the directory is empty: an image may have millions of empty directories. */
  children: Map<string, Inode> | null
}

/** A symbolic link. The target has one character per byte. */
interface SymlinkInode extends InodeCommon {
  readonly type: 'symlink'
  readonly target: string
}

/** A FIFO or a device node. `rdev` has the kernel's 32-bit encoding. */
interface SpecialInode extends InodeCommon {
  readonly type: 'fifo' | 'char' | 'block'
  readonly rdev: number
}

/** A node of the tree in memory, without content. */
export type Inode = FileInode | DirectoryInode | SymlinkInode | SpecialInode
