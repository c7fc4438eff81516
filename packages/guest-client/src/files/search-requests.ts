import type { GuestSearchItem } from './search-schemas.ts'

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
