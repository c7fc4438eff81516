/** The types of the entries of a listing. The guest names a kind it does not know `unknown`. */
export type ListedType = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'char' | 'block' | 'unknown'

/** An entry of a runtime's tree, as its guest reports it. */
export interface ListedEntry {
  readonly kind: 'entry'
  readonly type: ListedType
  /** The name in its directory, as bytes. Empty for `/`, and for an entry that was asked for. */
  readonly name: Buffer
  /** The target of a symlink, else empty. */
  readonly target: Buffer
  /** The permission bits, with set-id and sticky bits. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** The bytes of a file's content. */
  readonly size: number
  /**
   * The time of the last change of content or attributes. Zero if the guest substitutes the entry.
   */
  readonly ctimeSecs: number
  readonly ctimeNanos: number
  /** The low 32 bits of the inode number. */
  readonly inode: number
  readonly rdev: { readonly major: number; readonly minor: number }
  /** True if a mount hides what the image has here, and everything below it. */
  readonly isMount: boolean
  /** True for a directory of the image whose unchanged content the guest left out. */
  readonly isPruned: boolean
  /** True for a directory that holds only mounts and content of the guest. */
  readonly isParent: boolean
  /** True if the kernel reports that a file is that of the image. */
  readonly isLower: boolean
  /** The SHA-256 of a file's content; null if it was not asked for. */
  readonly sha256: Buffer | null
  /** The content of a file; null if it was not asked for or has more bytes. */
  readonly content: Buffer | null
}

/**
 * A record of a listing. `up` ends a directory, and `missing` stands for an entry that is not
 * there.
 */
export type ListingRecord =
  | ListedEntry
  | { readonly kind: 'up' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'end'; readonly leftOut: number }
