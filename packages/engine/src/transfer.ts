import { createHash } from 'node:crypto'
import type { ImageDigest } from './contract.ts'

/**
 * Moves images and checkpoints between engines. One engine describes an artifact and reads its
 * files; another receives them. The bytes may pass through hosts and stores that nobody trusts:
 * the receiver compares every digest before it publishes anything.
 */
export interface Transfer {
  /**
   * The class of the checkpoints that this host restores: a digest of the runner and its version,
   * the platform, the architecture and the CPU features. Hosts of one class restore each other's
   * checkpoints. Null if this host restores none. The guest binary is not part of it, because a
   * checkpoint brings its own.
   */
  readonly classId: string | null
  /** Returns the class of hosts that restore a stored checkpoint. Kind `not_found`. */
  classOf(checkpointId: string): Promise<string>
  /**
   * Describes an artifact that is on this host. Reads no content, so a damaged artifact can have a
   * description. Kind `not_found`; `damaged` if a file of it is missing.
   */
  describe(ref: ArtifactRef): Promise<ArtifactDescription>
  /**
   * Returns a part of a file that `describe` has named. The bytes are not verified. Kind
   * `not_found` if the artifact or the file is missing, `invalid` if the range is outside the file.
   * A file that is removed meanwhile is read to the end of the range.
   */
  read(ref: ArtifactRef, file: string, range: ByteRange, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  /**
   * Writes an artifact that was described elsewhere, and publishes it durably. `read` is called at
   * most once for each file, one file after another; files that are on this host already are not
   * read. A concurrent or earlier arrival of the same artifact is success.
   *
   * Before anything can be found, the sizes and digests of all files are compared. After any
   * failure nothing is found, and the next start of the engine removes the rest.
   *
   * - `invalid`: the description has another form, contradicts itself, or exceeds `transferBounds`.
   * - `damaged`: the bytes of a file differ from the description, or the files of an image do not
   *   give its digest. Another source may have the right ones.
   * - `incompatible`: this host cannot use the artifact: a checkpoint of another class, or an image
   *   with a base on a host that cannot mount one.
   * - `no_space`: the disk has no room for the files and the reserve of running runtimes.
   * - An error of `read`, or the reason of the signal, is passed on unchanged.
   */
  receive(description: ArtifactDescription, read: ReadFile, signal: AbortSignal): Promise<void>
}

/** An artifact: an image by its digest, or a checkpoint by its id. */
export type ArtifactRef =
  | { readonly kind: 'image'; readonly id: ImageDigest }
  | { readonly kind: 'checkpoint'; readonly id: string }

/**
 * An artifact as another engine needs it to receive it. It is plain JSON.
 *
 * The id of an image covers its description. The id of a checkpoint does not, so a receiver must
 * know the `descriptionDigest` from a source that it trusts.
 */
export interface ArtifactDescription {
  readonly ref: ArtifactRef
  /**
   * The files in the order of their transfer. An image has its own file and perhaps that of its
   * base. A checkpoint has the files of its runner and the guest binary that it needs.
   */
  readonly files: readonly ArtifactFile[]
  /** The class of hosts that can use it; null: every host. */
  readonly classId: string | null
  /** The image without which a checkpoint cannot be restored; null for an image. It is not sent. */
  readonly imageDigest: ImageDigest | null
  /** The rest of the facts, in a form that only engines read. At most `transferBounds.details`. */
  readonly details: string
}

/** A file of an artifact. */
export interface ArtifactFile {
  /** The name within the artifact: `[a-z0-9._-]{1,64}`, and no dot first. */
  readonly name: string
  readonly sizeBytes: number
  readonly digest: FileDigest
}

/**
 * The digest of a file's content, with 64 hex digits. `sha256`: SHA-256. `sha256-mib`: SHA-256 of
 * the SHA-256 of each MiB.
 */
export type FileDigest = `sha256:${string}` | `sha256-mib:${string}`

/** A part of a file, in bytes. */
export interface ByteRange {
  readonly offset: number
  readonly length: number
}

/** Returns the content of a file from its beginning to its end. */
export type ReadFile = (file: ArtifactFile, signal: AbortSignal) => AsyncIterable<Uint8Array>

/** The largest artifact that an engine receives. */
export const transferBounds = {
  /** The maximum number of files. */
  files: 32,
  /** The maximum number of bytes of all files together. */
  bytes: 256 * 2 ** 30,
  /** The maximum number of characters of `details`. */
  details: 64 * 1024,
} as const

/** Returns `sha256:` and the hex digest of a description. Equal descriptions have the same one. */
export function descriptionDigest({ ref, files, ...facts }: ArtifactDescription): `sha256:${string}` {
  const { classId, imageDigest, details } = facts
  const parts = files.map(({ name, sizeBytes, digest }) => [name, sizeBytes, digest])
  const text = JSON.stringify([ref.kind, ref.id, parts, classId, imageDigest, details])
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}
