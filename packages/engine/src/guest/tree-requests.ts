import type { Readable } from 'node:stream'

/** A tree to be exported. */
export interface ExportTree {
  /** Files that are still those of the image below come without content, where the class can tell them. */
  readonly onlyChanged: boolean
  /** True: programs go on writing meanwhile, and a file that gets shorter while it is read is filled with zeros. Else it breaks the export off. */
  readonly live?: boolean
  /** Absolute paths that are left out. */
  readonly exclude?: readonly string[]
}

/** What came of an export: `ImageStore.import` takes the body, with the image of the runtime as `base`. */
export interface ExportedTree {
  /** Whether unchanged files come without content. */
  readonly onlyChanged: boolean
  readonly body: Readable
}

/** Parts of a tree, as COPY names them. */
export interface SelectPaths {
  /** Patterns from the root: Go's `path.Match` part by part, and `**`. */
  readonly sources: readonly string[]
  /** Patterns of names within what is copied. */
  readonly exclude?: readonly string[]
  /** Names keep the whole path. */
  readonly parents?: boolean
}

/** What was selected, as tar. */
export interface SelectedPaths {
  /** How many paths the patterns matched. */
  readonly matches: number
  /** That is one, no directory, and without its parents: the destination may be the file itself. */
  readonly singleFile: boolean
  readonly body: Readable
}

/** A tar stream that is written into the tree, as COPY and ADD do. */
export interface ApplyTree {
  /** Absolute; a slash at its end says that it is a directory. */
  readonly destination: string
  /** The stream is one file, which may be the destination itself. */
  readonly singleFile: boolean
  /** `user[:group]`, each a name inside or a number, of everything; null: root, or as `keepOwners` says. */
  readonly chown: string | null
  /** Owners are as the stream has them. */
  readonly keepOwners: boolean
  /**
   * A mode as for chmod(1), octal or symbolic. It applies to everything but symlinks and
   * directories created on the way. Null keeps the modes of the stream.
   */
  readonly mode: string | null
  /** Archives at the top of the stream are unpacked into the destination. */
  readonly unpack: boolean
  readonly body: Readable | Uint8Array
}

/** Something that is at a place for a while, instead of what is there. */
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
