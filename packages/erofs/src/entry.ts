import type * as tar from '@holt/tar'

/** A regular file. Its content may be in another image already. */
export interface FileEntry extends tar.FileEntry {
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
  readonly image: StoredImage
  /** The offset in the image, in bytes. */
  readonly offset: number
}

/** An image that is open for reading: an `ImageReader`. */
interface StoredImage {
  /** Returns bytes of the image. */
  read(offset: number, length: number): Promise<Buffer>
}

/**
 * One member of the tree that becomes the image. The last entry of a path wins. A directory over an
 * existing directory replaces the attributes and keeps the children.
 */
export type Entry = Exclude<tar.Entry, tar.FileEntry> | FileEntry

/** A regular file with the same content as the same path in another image. */
export interface UnchangedEntry extends tar.EntryAttributes {
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
 * The list is decoded as it is read, once, and throws `TarError` if it is malformed.
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
export interface MountEntry extends tar.EntryAttributes {
  readonly type: 'mount'
  readonly kind: 'point' | 'parent'
  readonly isDirectory: boolean
}

/**
 * An entry of a runtime's exported tree. The tree and the image that the runtime is made of become
 * a new image.
 */
export type ExportEntry = Entry | UnchangedEntry | KeptEntry | MountEntry
