import { Readable } from 'node:stream'
import type { GuestMatch, GuestSearchItem, ReplaceRequest, SearchRequest } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import { line } from './fake-lines.ts'

/** A file of a fake guest. */
export interface FakeFile {
  readonly path: string
  readonly type: 'file' | 'directory' | 'symlink'
  /** The content; null if it has none. */
  readonly data: Buffer | null
}

/**
 * Searches the files below a path as in guest/PROTOCOL.md. The globs can be `*`, `*.EXTENSION` or
 * names.
 */
export function fakeSearch(files: readonly FakeFile[], request: SearchRequest): FakeAnswer {
  const pattern = request.content === null ? null : expressionOf(request.content)
  const found = files
    .filter(({ path, type }) => wanted(path, request.globs) && (request.type === null || request.type === type))
    .flatMap((file) => (pattern === null ? [nameMatch(file)] : lineMatches(file, pattern)))
  const matches = found.slice(0, request.max_results).map((match, index) => ({ ...match, cursor: index + 1 }))
  const items: GuestSearchItem[] = [
    ...matches,
    {
      type: 'end',
      cursor: matches.length,
      truncated: found.length > matches.length ? 'max_results' : null,
      files_searched: files.length,
      files_skipped: 0,
    },
  ]
  return { stream: Readable.from([Buffer.concat(items.map(line))]) }
}

/** Replaces a pattern in files, and passes each changed file to `write`. */
export function fakeReplace(
  files: readonly FakeFile[],
  request: ReplaceRequest,
  write: (path: string, data: Buffer) => void,
): FakeAnswer {
  // A plain text may be longer than an expression of JavaScript.
  const pattern = request.regex || !request.case_sensitive ? expressionOf(request) : request.pattern
  const found = files
    .filter(({ path, data }) => data !== null && (request.paths !== null || wanted(path, request.globs)))
    .map(({ path, data }) => ({ path, text: String(data), count: countOf(String(data), pattern) }))
    .filter(({ count }) => count > 0)
  const total_count = found.reduce((sum, { count }) => sum + count, 0)
  if (request.expected_count !== null && request.expected_count !== total_count)
    throw new HoltError('conflict', `the pattern is there ${total_count} times`)
  for (const { path, text } of request.dry_run ? [] : found)
    write(path, Buffer.from(text.replaceAll(pattern, () => request.replacement)))
  return { json: { files: found.map(({ path, count }) => ({ path, count, error: null })), total_count } }
}

function countOf(text: string, pattern: RegExp | string): number {
  return typeof pattern === 'string' ? text.split(pattern).length - 1 : [...text.matchAll(pattern)].length
}

function expressionOf(content: { pattern: string; regex: boolean; case_sensitive: boolean }): RegExp {
  try {
    const source = content.regex ? content.pattern : content.pattern.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
    return new RegExp(source, content.case_sensitive ? 'g' : 'gi')
  } catch {
    throw new HoltError('invalid_request', 'pattern: it is no expression')
  }
}

function wanted(path: string, globs: readonly string[]): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return (
    globs.length === 0 || globs.some((glob) => (glob.startsWith('*') ? name.endsWith(glob.slice(1)) : name === glob))
  )
}

function nameMatch({ path, type }: FakeFile): GuestMatch {
  const nothing = { line: null, column: null, length: null, text: null, text_truncated: false }
  return { type: 'match', cursor: 0, path, kind: type, ...nothing }
}

function lineMatches({ path, data }: FakeFile, pattern: RegExp): GuestMatch[] {
  return String(data ?? '')
    .split('\n')
    .flatMap((text, index) => {
      const match = [...text.matchAll(pattern)][0]
      if (match === undefined) return []
      const at = { line: index + 1, column: match.index + 1, length: match[0].length, text, text_truncated: false }
      return [{ type: 'match', cursor: 0, path, kind: 'file', ...at }]
    })
}
