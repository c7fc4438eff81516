import type { ImageReader } from './read/image-reader.ts'

/** What every entry carries, whatever its type. */
export interface EntryAttributes {
  /** From the root of the image; `/a`, `./a` and `a` are the same. Text means UTF-8. */
  readonly path: Uint8Array | string
  /** Permission bits, `0o7777`; bits above are ignored. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Seconds since the epoch, rounded down; may be negative. */
  readonly mtimeSecs: number
  /** Nanoseconds after `mtimeSecs`, 0 to 999,999,999. */
  readonly mtimeNanos: number
  /** Full attribute names (`security.capability`), one character per byte. */
  readonly xattrs?: ReadonlyMap<string, Uint8Array>
}

/** A device number as `mknod` takes it. */
export interface DeviceNumber {
  readonly major: number
  readonly minor: number
}

/**
 * A regular file. `body` yields exactly `size` bytes, and is read before the next entry is asked
 * for.
 */
export interface FileEntry extends EntryAttributes {
  readonly type: 'file'
  readonly size: number
  readonly body?: AsyncIterable<Uint8Array>
  /** Where the content stands already: a delta on this image's base need not store it again. */
  readonly stored?: StoredContent
  /** Where content of this size stands that may be the same. The writer compares. */
  readonly perhapsStored?: StoredContent
}

/** The content of a file of an image. */
export interface StoredContent {
  readonly image: ImageReader
  /** In bytes of the image. */
  readonly offset: number
}

/** A directory; over an existing directory it replaces the attributes and keeps the children. */
export interface DirectoryEntry extends EntryAttributes {
  readonly type: 'directory'
}

/** A symbolic link. The target is stored as it is and never followed. */
export interface SymlinkEntry extends EntryAttributes {
  readonly type: 'symlink'
  readonly linkTarget: Uint8Array | string
}

/**
 * One more name for an earlier entry that is not a directory; that entry's attributes are the ones
 * that count.
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

/** One member of the tree that becomes the image. For a path that comes twice the last one wins. */
export type Entry = FileEntry | DirectoryEntry | SymlinkEntry | HardlinkEntry | FifoEntry | DeviceEntry

/** A regular file whose content is that of the same path in another image. */
export interface UnchangedEntry extends EntryAttributes {
  readonly type: 'unchanged'
  readonly size: number
}

/** Names in a directory whose entries are those of the image below, with all their attributes. */
export interface KeptNames {
  /** From the root of the image. */
  readonly directory: Uint8Array
  readonly names: readonly Uint8Array[]
}

/**
 * A list of what an export has from the image below. None of the names is that of a directory. The
 * list is decoded as it is read, once, and throws `ErofsInputError` where it is malformed.
 */
export interface KeptEntry {
  readonly type: 'kept'
  readonly lists: Iterable<KeptNames>
}

/**
 * What a runtime's mounts stand on. `point`: a mount hides what the image below has there, and all
 * that is below it. `parent`: a directory that holds nothing but such places, and that the image
 * below may not have.
 */
export interface MountEntry extends EntryAttributes {
  readonly type: 'mount'
  readonly kind: 'point' | 'parent'
  readonly isDirectory: boolean
}

/**
 * What the tree of a runtime is exported as: it becomes an image together with the one that the
 * runtime is made of.
 */
export type ExportEntry = Entry | UnchangedEntry | KeptEntry | MountEntry
