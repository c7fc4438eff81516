import type { Readable } from 'node:stream'
import type { GuestContentHeaders, GuestFile, GuestUpload } from './file-schemas.ts'

/** A file to write. */
export interface WriteContent {
  readonly path: string
  readonly mode?: string
  readonly user?: string
  readonly createOnly: boolean
  /** The etag that the existing file must have, or `*` for any. It excludes `createOnly`. */
  readonly ifMatch?: string
  /** Expected digests in hexadecimal: of the file, and of the body. */
  readonly sha256?: string
  readonly partSha256?: string
  readonly body: Readable | Uint8Array
}

/** A part of a file to write. */
export interface WritePart extends WriteContent {
  readonly uploadId: string
  readonly offset: number
  /** True if more parts follow. */
  readonly partial: boolean
}

/** A file that a request has written or made. */
export interface MadeFile {
  /** True if it did not exist before. */
  readonly created: boolean
  readonly file: GuestFile
}

/** The result of a part: the file or, if more parts follow, the progress of the upload. */
export type Written = ({ readonly type: 'file' } & MadeFile) | { readonly type: 'part'; readonly upload: GuestUpload }

/** The bytes of a file with the guest's facts about it. */
export interface GuestContent {
  readonly status: 200 | 206
  readonly headers: GuestContentHeaders
  readonly body: Readable
}
