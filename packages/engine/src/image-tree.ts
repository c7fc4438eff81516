/**
 * The tree of an image, to be read. Names and targets are bytes. No link is followed. Reads fail
 * with kind `damaged` if the image is malformed. An open tree stays readable after the image was
 * removed.
 */
export interface ImageTree extends AsyncDisposable {
  readonly root: ImageNode
  /** Returns the names in a directory, decoded as latin1, with their nodes to be read. */
  children(directory: ImageNode): Promise<ReadonlyMap<string, () => Promise<ImageNode>>>
  /** Returns the target of a symlink. */
  target(symlink: ImageNode): Promise<Buffer>
  /** Returns the content of a file. */
  content(file: ImageNode): AsyncIterable<Uint8Array>
}

/** The type of an entry of an image. */
export type ImageNodeType = 'file' | 'directory' | 'symlink' | 'fifo' | 'char' | 'block'

/** An entry of an image. */
export interface ImageNode {
  /** The number of the node, which the kernel shows as the inode number. Hard links share it. */
  readonly number: number
  readonly type: ImageNodeType
  /** The permission bits, with set-id and sticky bits. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly mtimeSecs: number
  readonly mtimeNanos: number
  /** The bytes of a file's content, or of the list of names of a directory. */
  readonly size: number
  /** The device number of a device. */
  readonly rdev: { readonly major: number; readonly minor: number }
}
