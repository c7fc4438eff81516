import type { ImageReader } from './read/image-reader.ts'

/** The fields of every entry. */
export interface EntryAttributes {
  /**
   * The path from the root of the image. `/a`, `./a` and `a` are the same. Text is encoded as
   * UTF-8.
   */
  readonly path: Uint8Array | string
  /** The permission bits, `0o7777`. Bits above are ignored. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Seconds since the epoch, rounded down. May be negative. */
  readonly mtimeSecs: number
  /** Nanoseconds after `mtimeSecs`, 0 to 999,999,999. */
  readonly mtimeNanos: number
  /** Extended attributes by full name (`security.capability`), one character per byte. */
  readonly xattrs?: ReadonlyMap<string, Uint8Array>
}

/** A device number as `mknod` takes it. */
export interface DeviceNumber {
  readonly major: number
  readonly minor: number
}

/**
 * A regular file. `body` yields exactly `size` bytes, and is read before the next entry is
 * requested.
 */
export interface FileEntry extends EntryAttributes {
  readonly type: 'file'
  readonly size: number
  readonly body?: AsyncIterable<Uint8Array>
  /**
   * The place where the content is already stored. A delta on this image's base need not store it
   * again.
   */
  readonly stored?: StoredContent
  /** The place of content of the same size that may be equal. The writer compares. */
  readonly perhapsStored?: StoredContent
}

/** The content of a file of an image. */
export interface StoredContent {
  readonly image: ImageReader
  /** The offset in the image, in bytes. */
  readonly offset: number
}

/** A directory. Over an existing directory it replaces the attributes and keeps the children. */
export interface DirectoryEntry extends EntryAttributes {
  readonly type: 'directory'
}

/** A symbolic link. The target is stored as it is and never followed. */
export interface SymlinkEntry extends EntryAttributes {
  readonly type: 'symlink'
  readonly linkTarget: Uint8Array | string
}

/**
 * Another name for an earlier entry that is not a directory. The attributes of that entry apply.
 */
export interface HardlinkEntry extends EntryAttributes {
  readonly type: 'hardlink'
  readonly linkTarget: Uint8Array | string
}

/** A named pipe. */
export interface FifoEntry extends EntryAttributes {
  readonly type: 'fifo'
}

/** A device node. */
export interface DeviceEntry extends EntryAttributes {
  readonly type: 'char' | 'block'
  readonly rdev: DeviceNumber
}

/** One member of the tree that becomes the image. The last entry of a path wins. */
export type Entry = FileEntry | DirectoryEntry | SymlinkEntry | HardlinkEntry | FifoEntry | DeviceEntry

/** A regular file with the same content as the same path in another image. */
export interface UnchangedEntry extends EntryAttributes {
  readonly type: 'unchanged'
  readonly size: number
}

/** Names in a directory whose entries are those of the image below, with all their attributes. */
export interface KeptNames {
  /** The path from the root of the image. */
  readonly directory: Uint8Array
  readonly names: readonly Uint8Array[]
}

/**
 * A list of the names that an export keeps from the image below. None of them names a directory.
 * The list is decoded as it is read, once, and throws `ErofsInputError` if it is malformed.
 */
export interface KeptEntry {
  readonly type: 'kept'
  readonly lists: Iterable<KeptNames>
}

/**
 * A place of a runtime's mounts. `point`: a mount hides the entry of the image below, and
 * everything below that entry. `parent`: a directory that holds only such places. The image below
 * may not have it.
 */
export interface MountEntry extends EntryAttributes {
  readonly type: 'mount'
  readonly kind: 'point' | 'parent'
  readonly isDirectory: boolean
}

/**
 * An entry of a runtime's exported tree. The tree and the image that the runtime is made of become
 * a new image.
 */
export type ExportEntry = Entry | UnchangedEntry | KeptEntry | MountEntry
