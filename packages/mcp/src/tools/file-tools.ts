import { type FileDiff, HoltError } from '@holt/sdk'
import { z } from 'zod'
import { grouped, moreWith, oneLine, shortened, textResult } from '../results/results.ts'
import { readForModel } from './read-for-model.ts'
import { readsOnly, runtimeTool, type Tool } from './tool.ts'

/** The maximum number of entries of one list. */
const maxListed = 200

/** The maximum number of characters of a patch. */
const maxPatchLength = 100_000

/** The maximum number of characters of a line in the result of a search. */
const maxLineLength = 300

/** The maximum number of bytes of a text that `edit_file` replaces or inserts. */
const maxEditLength = 64 * 1024

const absolute = z.string().min(1).max(4096).startsWith('/')
const path = absolute.describe('An absolute path inside the runtime.')

const read = runtimeTool({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Reads a text file as it is, without line numbers. Long files are returned in parts, and a note says how to read on. Images (PNG, JPEG, GIF, WebP) are returned as images.',
  routes: ['getRuntime', 'readFile', 'statFile'],
  annotations: readsOnly,
  fields: {
    path,
    start_line: z.number().int().min(1).default(1).describe('The first line, from 1. Default 1.'),
    max_lines: z.number().int().min(1).max(5000).default(1000).describe('The most lines. Default 1000.'),
  },
  run: ({ path, start_line, max_lines }, { runtime, signal }) =>
    readForModel(runtime.files, path, { startLine: start_line, maxLines: max_lines, signal }),
})

const write = runtimeTool({
  name: 'write_file',
  title: 'Write a file',
  description:
    'Writes a whole file, or replaces it. Missing directories are made. To change a part of a file, use edit_file.',
  routes: ['getRuntime', 'writeFile'],
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  fields: {
    path,
    content: z.string().max(3_000_000).describe('The whole content.'),
    encoding: z.enum(['utf-8', 'base64']).default('utf-8').describe('The encoding of content. Default utf-8.'),
    mode: z
      .string()
      .regex(/^[0-7]{3,4}$/)
      .optional()
      .describe('The mode in octal, such as 0755. Default: 0644, or the mode of the existing file.'),
    overwrite: z.boolean().default(true).describe('False: an existing file is an error. Default true.'),
  },
  run: async ({ path, content, encoding, ...options }, { runtime, signal }) => {
    const bytes = encoding === 'base64' ? bytesOf(content) : content
    const { size_bytes } = await runtime.files.write(path, bytes, { ...options, signal })
    return textResult(`Wrote ${path}: ${grouped(size_bytes)} bytes.`)
  },
})

/** Returns the bytes of base64. Node's decoder passes over what is wrong in it. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(Buffer.from(atob(base64), 'latin1'))
  } catch {
    throw new HoltError('invalid_request', 'content is not base64.', {
      hint: 'Send the bytes of the file as base64, or its text with encoding utf-8.',
    })
  }
}

const edit = runtimeTool({
  name: 'edit_file',
  title: 'Edit a file',
  description:
    'Replaces an exact text in a text file. If old_text does not occur exactly expected_count times, nothing changes and the error says how often it occurs. Give enough lines around the change to make it unique.',
  routes: ['getRuntime', 'replaceInFiles'],
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  fields: {
    path,
    old_text: z
      .string()
      .min(1)
      .max(maxEditLength)
      .describe('The text to replace, with its exact spaces and line breaks.'),
    new_text: z.string().max(maxEditLength).describe('The new text. Empty: old_text is removed.'),
    expected_count: z
      .number()
      .int()
      .min(1)
      .max(100_000)
      .default(1)
      .describe('The number of times that old_text must occur. All of them are replaced. Default 1.'),
  },
  run: async ({ path, old_text, new_text, expected_count }, { runtime, signal }) => {
    const { total_count } = await runtime.files.edit(path, old_text, new_text, { expected_count, signal })
    return textResult(`Edited ${path}: ${total_count} ${total_count === 1 ? 'place' : 'places'}.`)
  },
})

const list = runtimeTool({
  name: 'list_files',
  title: 'List a directory',
  description: 'Lists the entries of a directory: type, size in bytes and path. A symlink has its target.',
  routes: ['getRuntime', 'listFiles'],
  annotations: readsOnly,
  fields: {
    path: absolute.describe('The absolute path of a directory.'),
    depth: z.number().int().min(1).max(64).default(1).describe('The number of levels. Default 1.'),
    cursor: z.string().max(8192).optional().describe('The cursor that an earlier list ended with.'),
  },
  run: async ({ path, depth, cursor }, { runtime, signal }) => {
    const { data, next_cursor } = await runtime.files.list(path, { depth, limit: maxListed, signal }).page(cursor)
    if (data.length === 0) return textResult(`${path} is empty.`)
    const lines = data.map(({ type, size_bytes, path, symlink_target }) => {
      const target = symlink_target === null ? '' : ` -> ${oneLine(symlink_target)}`
      return `${type.padEnd(9)} ${String(size_bytes).padStart(10)} ${oneLine(path)}${target}`
    })
    return textResult(lines.join('\n'), next_cursor === null ? '' : moreWith(next_cursor))
  },
})

const search = runtimeTool({
  name: 'search_files',
  title: 'Search files',
  description:
    'Searches below a directory by name (glob), by the content of lines (content), or both. Skips what .gitignore files name.',
  routes: ['getRuntime', 'searchFiles'],
  annotations: readsOnly,
  fields: {
    path: absolute.describe('The directory to search. With content, it can also be one file.'),
    glob: z
      .array(z.string().min(1).max(1024))
      .max(64)
      .optional()
      .describe('Patterns as in .gitignore, such as ["*.py", "!tests/"]. Default: every file.'),
    content: z.string().min(1).max(4096).optional().describe('The text to find in lines. Default: names are searched.'),
    regex: z.boolean().default(false).describe('True: content is a regular expression in RE2 syntax. Default false.'),
    case_sensitive: z.boolean().default(true).describe('False: upper and lower case match each other. Default true.'),
    hidden: z.boolean().default(false).describe('True: include names that begin with a dot. Default false.'),
    max_results: z.number().int().min(1).max(500).default(100).describe('The most matches. Default 100.'),
  },
  run: async ({ path, content, regex, case_sensitive, ...options }, { runtime, signal }) => {
    const wanted = content === undefined ? {} : { content: { pattern: content, regex, case_sensitive } }
    const { data, truncated } = await runtime.files.search(path, { ...options, ...wanted, signal })
    if (data.length === 0) return textResult('Nothing matches.')
    const lines = data.map(({ path, line, text }) =>
      line === null ? oneLine(path) : `${oneLine(path)}:${line}: ${shortened(text ?? '', maxLineLength)}`,
    )
    const note = truncated === null ? '' : `The search ended early (${truncated}). Narrow it, or raise max_results.`
    return textResult(lines.join('\n'), note)
  },
})

const copy = runtimeTool({
  name: 'copy_files',
  title: 'Copy a file or a directory',
  description:
    'Copies a file, or with recursive a directory, inside the runtime to exactly destination. With overwrite an existing destination is replaced, never merged.',
  routes: ['getRuntime', 'copyFile'],
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  fields: {
    source: absolute.describe('The absolute path of the source.'),
    destination: absolute.describe('The absolute path that the copy gets.'),
    recursive: z.boolean().default(false).describe('True: copy a directory with everything below. Default false.'),
    overwrite: z.boolean().default(false).describe('True: replace an existing destination. Default false.'),
  },
  run: async ({ source, destination, ...options }, { runtime, signal }) => {
    await runtime.files.copy(source, destination, { ...options, signal })
    return textResult(`Copied ${source} to ${destination}.`)
  },
})

const diff = runtimeTool({
  name: 'diff_files',
  title: 'List changed files',
  description:
    'Lists the files that have changed since the runtime began, or since a snapshot of it. Forks and memory snapshots need record_files for that, or are compared with the image. With patch, also returns a patch in the format of git.',
  routes: ['getRuntime', 'diffFiles'],
  annotations: readsOnly,
  fields: {
    path: absolute.default('/').describe('Only changes at this path and below it. Default /.'),
    since: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe('A snapshot by id or name, or image for the image below the runtime. Default: the beginning.'),
    patch: z.boolean().default(false).describe('True: also return the patch. Default false.'),
    cursor: z.string().max(8192).optional().describe('The cursor that an earlier list ended with.'),
  },
  run: async ({ path, patch, ...options }, { runtime, signal }) => {
    const found = await runtime.diff({ path, patch, limit: maxListed, ...options, signal })
    const note = noteOn(found)
    if (found.data.length === 0) return textResult(note === '' ? 'Nothing has changed.' : '', note)
    const lines = found.data.map(({ change, path }) => `${change.padEnd(12)} ${oneLine(path)}`)
    return textResult(lines.join('\n'), shortened(found.patch ?? '', maxPatchLength), note)
  },
})

/**
 * Returns the note on the changes that a page of a diff does not show. Empty if that is nothing.
 */
function noteOn({ next_cursor, truncated, patch, patch_complete }: FileDiff): string {
  const isCut = patch_complete === false || (patch?.length ?? 0) > maxPatchLength
  return [
    isCut ? 'The patch does not show every file: a file is binary or large, or the patch is. Read it by itself.' : '',
    next_cursor === null && truncated ? 'Entries with paths of more than 4,096 bytes are left out.' : '',
    next_cursor === null ? '' : moreWith(next_cursor),
  ]
    .filter((part) => part !== '')
    .join('\n')
}

/** The tools of files. */
export const fileTools: readonly Tool[] = [read, write, edit, list, search, diff, copy]
