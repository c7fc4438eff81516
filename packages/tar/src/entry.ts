/** The fields of every entry. */
export interface EntryAttributes {
  /**
   * The path from the root of the tree. `/a`, `./a` and `a` are the same. Text is encoded as
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
}

/** A directory. */
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

/** One entry of an archive. The last entry of a path wins. */
export type Entry = FileEntry | DirectoryEntry | SymlinkEntry | HardlinkEntry | FifoEntry | DeviceEntry
