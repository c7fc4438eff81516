import { z } from 'zod'
import { ifSound } from './if-sound.ts'
import { RuntimePath } from './runtime-path.ts'
import { byteLength } from './text.ts'

const fileTypes = ['file', 'directory', 'symlink', 'fifo', 'socket', 'device'] as const

const maxPatternLength = 4096

/** The maximum number of bytes of a plain text to replace, and of its replacement. */
const maxReplacedBytes = 64 * 1024

const glob = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[^\0]+$/, 'must not contain NUL')
  .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')

const globs = z
  .union([glob, z.array(glob).max(64)])
  .default([])
  .transform((value) => (typeof value === 'string' ? [value] : value))
  .describe(
    'Patterns as in .gitignore, with `{a,b}`. A pattern with a slash is relative to `path`; any other matches at every depth. `!` before a pattern excludes. The last matching pattern decides. Default: every file.',
  )

const pattern = z
  .string()
  .min(1)
  .max(maxPatternLength)
  .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')

const walked = {
  glob: globs,
  hidden: z.boolean().default(false).describe('True: include names that begin with a dot. Default false.'),
  respect_gitignore: z
    .boolean()
    .default(true)
    .describe('True: skip `.git` and the files that .gitignore files name. Default true.'),
}

const howToMatch = {
  regex: z
    .boolean()
    .default(false)
    .describe('True: the pattern is a regular expression in RE2 syntax. False (default): it is plain text.'),
  case_sensitive: z
    .boolean()
    .default(true)
    .describe('False: upper and lower case letters match each other. Default true.'),
}

/** The body of a search. */
export const SearchFiles = z
  .strictObject({
    path: RuntimePath.describe('The directory to search. With `content`, it can also be one file.'),
    ...walked,
    type: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket']).optional().describe('Only files of this type.'),
    content: z
      .strictObject({
        pattern: pattern
          .refine((text) => !text.includes('\n'), 'must not contain a line break: lines are searched')
          .describe('The text or regular expression to find in a line.'),
        ...howToMatch,
      })
      .optional()
      .describe('The content to find, line by line. Absent: the search is for names.'),
    max_depth: z.number().int().min(1).max(256).default(64).describe('The depth of the search in levels. Default 64.'),
    max_results: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .default(1_000)
      .describe('The most matches in the answer. Default 1000.'),
    timeout_secs: z
      .number()
      .min(0.1)
      .max(300)
      .default(30)
      .describe('The time limit in seconds. At the limit, the answer has the matches found so far. Default 30.'),
  })
  .superRefine(
    ({ type, content }, context) => {
      if (content !== undefined && type !== undefined && type !== 'file')
        context.addIssue({ code: 'custom', path: ['type'], message: 'must be file where there is content' })
    },
    ifSound('type', 'content'),
  )
  .meta({ id: 'SearchFiles' })
export type SearchFilesInput = z.input<typeof SearchFiles>

/** A match of a search: a line or, without `content`, a name. */
export const SearchMatch = z
  .object({
    path: z.string().describe('The path. U+FFFD replaces bytes that are not UTF-8.'),
    path_base64: z.string().optional().describe('The raw bytes of the path in base64; absent if the path is UTF-8.'),
    type: z.enum(fileTypes).describe('The type of the file.'),
    line: z.number().int().nullable().describe('The line number, from 1; null in a search for names.'),
    column: z
      .number()
      .int()
      .nullable()
      .describe('The column of the first match in the line, in characters from 1; null in a search for names.'),
    length: z
      .number()
      .int()
      .nullable()
      .describe('The length of the first match in the line, in characters; null in a search for names.'),
    text: z
      .string()
      .nullable()
      .describe(
        'The text of the line; null in a search for names. Of a line above 1,000 bytes, it is the part around the match.',
      ),
    text_truncated: z.boolean().describe('True if `text` is only a part of the line.'),
  })
  .meta({ id: 'SearchMatch' })
export type SearchMatch = z.infer<typeof SearchMatch>

const searchEnd = {
  truncated: z
    .enum(['max_results', 'max_bytes', 'timeout'])
    .nullable()
    .describe('The limit that ended the search early; null if the search is complete.'),
  files_searched: z.number().int().describe('The number of files whose content was searched.'),
  files_skipped: z
    .number()
    .int()
    .describe('The number of files that were skipped because they are binary or unreadable.'),
}

/** The answer of a search. */
export const SearchResult = z
  .object({
    data: z.array(SearchMatch).describe('The matches, in the order in which the search found them.'),
    ...searchEnd,
  })
  .meta({ id: 'SearchResult' })
export type SearchResult = z.infer<typeof SearchResult>

const cursor = z.number().int().describe('The position of the item in the results, from 1.')

/** An item of a streamed search. */
export const SearchItem = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('match').describe('A match.'),
      cursor,
      match: SearchMatch.describe('The matching file, and the position in it.'),
    }),
    z.object({ type: z.literal('end').describe('The last item: the search has ended.'), cursor, ...searchEnd }),
  ])
  .meta({ id: 'SearchItem' })
export type SearchItem = z.infer<typeof SearchItem>

/** The body of a replacement in files. */
export const ReplaceInFiles = z
  .strictObject({
    paths: z
      .array(RuntimePath)
      .min(1)
      .max(1000)
      .optional()
      .describe('The text files to change. Give exactly one of `path` and `paths`.'),
    path: RuntimePath.optional().describe(
      'A text file to change, or a directory whose text files are changed. Give exactly one of `path` and `paths`.',
    ),
    ...walked,
    pattern: z
      .string()
      .min(1)
      .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
      .refine((text) => byteLength(text) <= maxReplacedBytes, `must be at most ${maxReplacedBytes} bytes`)
      .describe(
        'The text or regular expression to replace: at most 65,536 bytes of case-sensitive text, else 4,096 characters.',
      ),
    replacement: z
      .string()
      .max(maxReplacedBytes)
      .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
      .describe('The replacement text. With `regex`, `$1` and `$name` insert groups, and `$$` inserts a dollar sign.'),
    regex: howToMatch.regex.describe(
      'True: the pattern is a regular expression in RE2 syntax, matched over the whole file; `^` and `$` match at line ends. False (default): it is plain text.',
    ),
    case_sensitive: howToMatch.case_sensitive,
    expected_count: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe(
        'The number of matches that must exist in total. If there are more or fewer, nothing changes. Default: any number.',
      ),
    dry_run: z.boolean().default(false).describe('True: count the matches and change nothing. Default false.'),
  })
  .superRefine(
    ({ path, paths, pattern, regex, case_sensitive }, context) => {
      if ((path === undefined) === (paths === undefined))
        context.addIssue({ code: 'custom', path: ['paths'], message: 'exactly one of path and paths is needed' })
      if ((regex || !case_sensitive) && pattern.length > maxPatternLength)
        context.addIssue({
          code: 'custom',
          path: ['pattern'],
          message: `must be at most ${maxPatternLength} characters, unless it is case-sensitive plain text`,
        })
    },
    ifSound('path', 'paths', 'pattern', 'regex', 'case_sensitive'),
  )
  .meta({ id: 'ReplaceInFiles', examples: [{ path: '/workspace', glob: '*.py', pattern: 'old', replacement: 'new' }] })
export type ReplaceInFilesInput = z.input<typeof ReplaceInFiles>

/**
 * The answer of a replacement: the files that contained the pattern, with the number of matches.
 */
export const ReplaceResult = z
  .object({
    files: z
      .array(
        z.object({
          path: z.string().describe('The path. U+FFFD replaces bytes that are not UTF-8.'),
          path_base64: z
            .string()
            .optional()
            .describe('The raw bytes of the path in base64; absent if the path is UTF-8.'),
          count: z.number().int().describe('The number of matches in the file.'),
          error: z
            .object({
              code: z.string().describe('The error code, from the catalogue.'),
              message: z.string().describe('A sentence for people that says what happened.'),
            })
            .nullable()
            .describe('Why the file was not changed; null if it was changed, or in a dry run.'),
        }),
      )
      .describe('The files that contain the pattern.'),
    total_count: z
      .number()
      .int()
      .describe('The number of replacements in all files. In a dry run, the number of matches.'),
    dry_run: z.boolean().describe('True if nothing was changed.'),
  })
  .meta({ id: 'ReplaceResult' })
export type ReplaceResult = z.infer<typeof ReplaceResult>
