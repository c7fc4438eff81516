import type { Readable } from 'node:stream'

/** The type of a file. */
export type FileKind = 'file' | 'directory' | 'symlink' | 'other'

/** The facts of a file. */
export interface FileFacts {
  readonly path: string
  readonly kind: FileKind
  readonly sizeBytes: number
  /** The permission bits. */
  readonly mode: number
  /** Nine characters, as in `rw-r--r--`. */
  readonly permissions: string
  readonly owner: string
  readonly group: string
  readonly modifiedAt: Date
  /** The file to which a symlink leads. Null: it leads nowhere, or this is no symlink. */
  readonly target: { readonly path: string; readonly kind: FileKind } | null
  /** The texts that were stored with the file. Null: none. */
  readonly metadata: Readonly<Record<string, string>> | null
}

/** The bytes of a file, or a part of them. */
export interface FileContent {
  readonly status: 200 | 206
  /** `content-length`, `content-range`, `etag` and `last-modified`, as far as they are known. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
}

/**
 * A path of a request, as it was sent. A relative one begins at the home of the account, as does
 * one with `~`. An empty one is the directory of the template, or else the home.
 */
export interface Place {
  /** The name of an account inside. Null: the default account. */
  readonly account: string | null
  readonly path: string
}

/** A file to write. */
export interface FileWrite extends Place {
  /** Replaces all metadata of the file. */
  readonly metadata: Readonly<Record<string, string>>
}

/**
 * The files of a sandbox. Methods throw `ConnectError`: `not_found` for a missing path,
 * `unauthenticated` for a missing account, and other codes for other faults.
 */
export interface Files {
  /** Returns the facts of a file, of the symlink itself for one. */
  stat(place: Place, signal: AbortSignal): Promise<FileFacts>
  /**
   * Returns the entries below a directory, depth first, siblings by name. A symlink as `path` is
   * followed and kept in the paths of the entries.
   */
  list(place: Place, depth: number, signal: AbortSignal): Promise<readonly FileFacts[]>
  /**
   * Makes a directory and its parents for the account. `isNew` is false if a directory is there.
   * Throws `invalid_argument` if another file is there.
   */
  makeDirectory(place: Place, signal: AbortSignal): Promise<{ readonly isNew: boolean; readonly facts: FileFacts }>
  /** Renames as rename(2) does, after it has made the parents. */
  rename(
    request: { readonly account: string | null; readonly source: string; readonly destination: string },
    signal: AbortSignal,
  ): Promise<FileFacts>
  /** Removes a file, or a directory with its entries. Nothing to remove is success. */
  remove(place: Place, signal: AbortSignal): Promise<void>
  /** Reads a file. `range` and `ifRange` are headers of RFC 9110. */
  read(
    request: Place & { readonly range: string | null; readonly ifRange: string | null },
    signal: AbortSignal,
  ): Promise<FileContent>
  /** Writes a file in place for the account, as its bytes come. Makes the parents. */
  write(request: FileWrite, body: Readable, signal: AbortSignal): Promise<FileFacts>
}
