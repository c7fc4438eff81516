import type { Readable } from 'node:stream'

/** An export of a tree. */
export interface ExportTree {
  /** Unchanged files of the base image come without content, if the class can tell. */
  readonly onlyChanged: boolean
  /**
   * True if programs continue to write meanwhile. Then a file that shrinks while it is read is
   * filled with zeros. Otherwise it ends the export with an error.
   */
  readonly live?: boolean
  /** True if all processes inside are stopped until the export ends. */
  readonly still?: boolean
  /** Absolute paths to leave out. */
  readonly exclude?: readonly string[]
}

/**
 * The result of an export. `ImageStore.import` takes the body, with the runtime's image as `base`.
 */
export interface ExportedTree {
  /** True if unchanged files come without content. */
  readonly onlyChanged: boolean
  readonly body: Readable
}

/** Parts of a tree, as COPY names them. */
export interface SelectPaths {
  /** Patterns from the root: Go's `path.Match` part by part, and `**`. */
  readonly sources: readonly string[]
  /** Patterns of names within the copied tree. */
  readonly exclude?: readonly string[]
  /** True if names keep the whole path. */
  readonly parents?: boolean
}

/** The selected parts, as tar. */
export interface SelectedPaths {
  /** The number of paths that the patterns matched. */
  readonly matches: number
  /**
   * True for one match that is no directory, without its parents. The destination may be the file
   * itself.
   */
  readonly singleFile: boolean
  readonly body: Readable
}

/** A tar stream to write into the tree, as COPY and ADD do. */
export interface ApplyTree {
  /** An absolute path. A slash at its end marks a directory. */
  readonly destination: string
  /** True if the stream is one file, which may be the destination itself. */
  readonly singleFile: boolean
  /**
   * `user[:group]` for all entries, each a name inside or a number. Null: root, or the stream's
   * owners with `keepOwners`.
   */
  readonly chown: string | null
  /** True if the owners in the stream are kept. */
  readonly keepOwners: boolean
  /**
   * A mode as for chmod(1), octal or symbolic. It applies to everything but symlinks and
   * directories created on the way. Null keeps the modes of the stream.
   */
  readonly mode: string | null
  /** True if archives at the top of the stream are unpacked into the destination. */
  readonly unpack: boolean
  readonly body: Readable | Uint8Array
}

/** An entry that temporarily replaces another one at its place. */
export interface TreeMount {
  readonly id: string
  /** Absolute. */
  readonly target: string
  readonly kind: 'directory' | 'file'
  /** Octal; without it 0755, of a file 0400. */
  readonly mode?: string
  readonly uid?: number
  readonly gid?: number
  /** Of a file. */
  readonly content?: Uint8Array
}

/** An archive that becomes a tree. Null leaves the choice to the guest. */
export interface WriteArchive {
  readonly path: string
  readonly format: 'tar' | 'tar.gz' | null
  readonly user: string | null
  readonly keepOwners: boolean
  readonly overwrite: boolean
  readonly merge: boolean
  readonly maxEntries: number
  readonly maxBytes: number | null
  readonly body: Readable | Uint8Array
}
