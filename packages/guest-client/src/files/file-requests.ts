import type { Readable } from 'node:stream'
import { answeredWrongly } from '../answers/answered-wrongly.ts'
import type { GuestSearchItem, GuestUpload } from './file-schemas.ts'
import type { GuestFile } from '../schemas.ts'

/** The most characters in all names and lines of one search. The guest stops at 8 MiB. */
const maxSearchLength = 10 * 1024 * 1024

/** A file to write. */
export interface WriteContent {
  readonly path: string
  readonly mode?: string
  readonly user?: string
  readonly createOnly: boolean
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

/** The result of a part: the file or, if more parts follow, the progress of the upload. */
export type Written =
  | { readonly type: 'file'; readonly created: boolean; readonly file: GuestFile }
  | { readonly type: 'part'; readonly upload: GuestUpload }

/** A search: the pattern, and the place to search. */
export interface SearchRequest {
  readonly path: string
  readonly globs: readonly string[]
  readonly type: string | null
  readonly content: { readonly pattern: string; readonly regex: boolean; readonly case_sensitive: boolean } | null
  readonly hidden: boolean
  readonly respect_gitignore: boolean
  readonly max_depth: number
  readonly max_results: number
  readonly timeout_ms: number
}

/** A line or a name that a search has found. */
export type GuestMatch = Extract<GuestSearchItem, { type: 'match' }>

/** All matches of a search, and how it ended. */
export interface SearchFindings {
  readonly matches: readonly GuestMatch[]
  readonly end: Extract<GuestSearchItem, { type: 'end' }>
}

/** A replacement: the pattern, and the place. Exactly one of `paths` and `path` is not null. */
export interface ReplaceRequest extends Pick<SearchRequest, 'globs' | 'hidden' | 'respect_gitignore'> {
  readonly paths: readonly string[] | null
  readonly path: string | null
  readonly pattern: string
  readonly replacement: string
  readonly regex: boolean
  readonly case_sensitive: boolean
  readonly expected_count: number | null
  readonly dry_run: boolean
}

/** Ends a search whose guest sends more than was requested. */
export async function* boundedMatches(
  items: AsyncGenerator<GuestSearchItem>,
  maxResults: number,
): AsyncGenerator<GuestSearchItem> {
  let matches = 0
  let length = 0
  for await (const item of items) {
    if (item.type === 'match') {
      matches += 1
      length += lengthOf(item)
    }
    if (matches > maxResults || length > maxSearchLength)
      throw answeredWrongly('it found more than the requested number')
    yield item
  }
}

/** Returns the number of characters in a match. */
export function lengthOf({ path, path_base64 = '', text }: GuestMatch): number {
  return path.length + path_base64.length + (text?.length ?? 0)
}
