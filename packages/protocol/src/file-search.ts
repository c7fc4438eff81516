import { z } from 'zod'
import { ifSound } from './if-sound.ts'
import { RuntimePath } from './runtime-path.ts'

const fileTypes = ['file', 'directory', 'symlink', 'fifo', 'socket', 'device'] as const

const maxPatternLength = 4096

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
    'As in .gitignore, with {a,b}: one with a slash counts from `path`, any other at every depth; with `!` before it, it leaves out. The last that matches decides.',
  )

const pattern = z
  .string()
  .min(1)
  .max(maxPatternLength)
  .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')

const walked = {
  glob: globs,
  hidden: z.boolean().default(false).describe('Names that begin with a dot, too.'),
  respect_gitignore: z.boolean().default(true).describe('Leave out .git and what .gitignore files name.'),
}

const howToMatch = {
  regex: z.boolean().default(false).describe("A regular expression in RE2's syntax; else plain text."),
  case_sensitive: z.boolean().default(true).describe('False: capital and small letters are equal. Default true.'),
}

/** The body of a search. */
export const SearchFiles = z
  .strictObject({
    path: RuntimePath.describe('A directory or, with `content`, also one file.'),
    ...walked,
    type: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket']).optional().describe('Only files of this type.'),
    content: z
      .strictObject({
        pattern: pattern
          .refine((text) => !text.includes('\n'), 'must not contain a line break: lines are searched')
          .describe('The text, or the regular expression, that a line has to contain.'),
        ...howToMatch,
      })
      .optional()
      .describe('What a line has to hold. Without it names are searched for.'),
    max_depth: z.number().int().min(1).max(256).default(64).describe('How many levels down.'),
    max_results: z.number().int().min(1).max(10_000).default(1_000).describe('The most matches. Default 1000.'),
    timeout_secs: z
      .number()
      .min(0.1)
      .max(300)
      .default(30)
      .describe('After this time the answer is what has been found.'),
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
    path: z.string().describe('U+FFFD stands for bytes that are not UTF-8.'),
    path_base64: z.string().optional().describe('The raw bytes of the path, where they are not UTF-8.'),
    type: z.enum(fileTypes).describe('The type of the file.'),
    line: z.number().int().nullable().describe('From 1.'),
    column: z.number().int().nullable().describe('Of the first match in the line, in characters from 1.'),
    length: z.number().int().nullable().describe('Of the first match in the line, in characters.'),
    text: z.string().nullable().describe('The line; of one longer than 1,000 bytes the part around the match.'),
    text_truncated: z.boolean().describe('True if `text` is only a part of the line.'),
  })
  .meta({ id: 'SearchMatch' })
export type SearchMatch = z.infer<typeof SearchMatch>

const searchEnd = {
  truncated: z
    .enum(['max_results', 'max_bytes', 'timeout'])
    .nullable()
    .describe('Why not all was found; null: it was.'),
  files_searched: z.number().int().describe('Files looked into.'),
  files_skipped: z.number().int().describe('Files not looked into: binary, or not to be read.'),
}

/** The answer of a search. */
export const SearchResult = z
  .object({ data: z.array(SearchMatch).describe('The matches, in the order of the walk.'), ...searchEnd })
  .meta({ id: 'SearchResult' })
export type SearchResult = z.infer<typeof SearchResult>

const cursor = z.number().int().describe('The place in the results, counted from 1.')

/** An item of a streamed search. */
export const SearchItem = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('match').describe('A match.'),
      cursor,
      match: SearchMatch.describe('The file, and the place in it.'),
    }),
    z.object({ type: z.literal('end').describe('The last item: the search has ended.'), cursor, ...searchEnd }),
  ])
  .meta({ id: 'SearchItem' })
export type SearchItem = z.infer<typeof SearchItem>

/** The body of a replacement in files. */
export const ReplaceInFiles = z
  .strictObject({
    paths: z.array(RuntimePath).min(1).max(1000).optional().describe('Text files.'),
    path: RuntimePath.optional().describe('A text file, or a directory whose text files are gone through.'),
    ...walked,
    pattern: pattern.describe('The text, or the regular expression, to replace.'),
    replacement: z
      .string()
      .max(64 * 1024)
      .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
      .describe('With `regex`, `$1` and `$name` are the groups, and `$$` is a dollar sign.'),
    regex: howToMatch.regex.describe('RE2 over the whole file; `^` and `$` are ends of lines.'),
    case_sensitive: howToMatch.case_sensitive,
    expected_count: z.number().int().min(0).optional().describe('How often the pattern has to be there in all.'),
    dry_run: z.boolean().default(false).describe('Count, and change nothing.'),
  })
  .superRefine(
    ({ path, paths }, context) => {
      if ((path === undefined) === (paths === undefined))
        context.addIssue({ code: 'custom', path: ['paths'], message: 'exactly one of path and paths is needed' })
    },
    ifSound('path', 'paths'),
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
          path: z.string().describe('The path. U+FFFD stands for bytes that are not UTF-8.'),
          path_base64: z.string().optional().describe('The raw bytes of the path, where they are not UTF-8.'),
          count: z.number().int().describe('How often the pattern is in the file.'),
          error: z
            .object({
              code: z.string().describe('The error code, from the catalogue.'),
              message: z.string().describe('What happened, in a sentence.'),
            })
            .nullable()
            .describe('Why this file has not been changed.'),
        }),
      )
      .describe('The files that contain the pattern.'),
    total_count: z.number().int().describe('Replaced in all; in a dry run, found in all.'),
    dry_run: z.boolean().describe('True if nothing was changed.'),
  })
  .meta({ id: 'ReplaceResult' })
export type ReplaceResult = z.infer<typeof ReplaceResult>
