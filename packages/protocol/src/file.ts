import { z } from 'zod'
import { partFields, partsAreSound, partsNeedId } from './file-upload.ts'
import { Timestamp } from './page.ts'
import { maxPathBytes, RuntimePath } from './runtime-path.ts'

/** A file mode in octal: `"0644"`. */
export const FileMode = z
  .string()
  .regex(/^[0-7]{3,4}$/, 'must be an octal mode such as "0644"')
  .meta({ examples: ['0644'] })
  .describe('The permission bits in octal: `"0644"`.')

/** The owner of new files. */
export const UserName = z
  .string()
  .regex(/^(?:[A-Za-z_][A-Za-z0-9_-]{0,31}|\d{1,10}(?::\d{1,10})?)$/, 'must be a user name, a uid or uid:gid')

const user = UserName.describe("Who owns what is made; default the template's user.")

/** The facts about a file. */
export const FileInfo = z
  .object({
    path: z.string().describe('U+FFFD stands for bytes that are not UTF-8.'),
    name: z.string().describe('The last part of the path.'),
    type: z
      .enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device'])
      .describe('The type of the file. A symlink is not followed.'),
    size_bytes: z.number().int().describe('The size in bytes.'),
    mode: z.string().describe('Octal, for example "0644".'),
    permissions: z.string().describe('For example "rw-r--r--".'),
    uid: z.number().int().describe("The owner's number."),
    gid: z.number().int().describe("The group's number."),
    user: z.string().describe("The owner's name, or the number where there is no name."),
    group: z.string().describe("The group's name, or the number where there is no name."),
    modified_at: Timestamp.describe('When the content changed last (RFC 3339 UTC with milliseconds).'),
    symlink_target: z.string().nullable().describe('The target of a symlink, as it is written; else null.'),
    path_base64: z.string().optional().describe('The raw bytes of the path, where they are not UTF-8.'),
  })
  .meta({ id: 'FileInfo' })
export type FileInfo = z.infer<typeof FileInfo>

/** The body of a copy. */
export const CopyFile = z
  .strictObject({
    source: RuntimePath.describe('An existing absolute path.'),
    destination: RuntimePath.describe('An absolute path; the copy arrives at exactly this path.'),
    recursive: z.boolean().default(false).describe('Needed to copy a directory.'),
    overwrite: z.boolean().default(false).describe('Replace what is at the destination; never merge.'),
  })
  .meta({ id: 'CopyFile', examples: [{ source: '/workspace/project', destination: '/tmp/before', recursive: true }] })
export type CopyFileInput = z.input<typeof CopyFile>

/** The answer of a copy and of a move. */
export const FileTransferred = z
  .object({
    success: z.literal(true).describe('Always true.'),
    source: z.string().describe('The canonical path of the source.'),
    destination: z.string().describe('The canonical path of the destination.'),
    entry: FileInfo.optional().describe('The file at the destination.'),
  })
  .meta({ id: 'FileTransferred' })
export type FileTransferred = z.infer<typeof FileTransferred>

/** The body of a move. */
export const MoveFile = z
  .strictObject({
    source: RuntimePath.describe('An existing absolute path.'),
    destination: RuntimePath.describe('An absolute path. The file arrives at exactly this path.'),
    overwrite: z.boolean().default(false).describe('Replace what is at the destination. Default false.'),
  })
  .meta({ id: 'MoveFile', examples: [{ source: '/workspace/draft.txt', destination: '/workspace/final.txt' }] })
export type MoveFileInput = z.input<typeof MoveFile>

/** The body of a mkdir. */
export const MakeDirectory = z
  .strictObject({
    path: RuntimePath.describe('The absolute path of the directory.'),
    parents: z.boolean().default(true).describe('Make missing parents; an existing directory is success.'),
    mode: FileMode.optional().describe('Default "0755".'),
    user: user.optional(),
  })
  .meta({ id: 'MakeDirectory' })
export type MakeDirectoryInput = z.input<typeof MakeDirectory>

/** The body of a remove. */
export const RemoveFile = z
  .strictObject({
    path: RuntimePath.describe('The absolute path to remove. A symlink is removed itself.'),
    recursive: z.boolean().default(false).describe('Needed for a directory that is not empty.'),
  })
  .meta({ id: 'RemoveFile' })
export type RemoveFileInput = z.input<typeof RemoveFile>

/** The query of routes that take one path. */
export const PathQuery = z.strictObject({ path: RuntimePath.describe('An absolute path inside the runtime.') })

/** The query of a write. */
export const WriteQuery = z
  .strictObject({
    path: RuntimePath.describe('The absolute path of the file. Missing parents are made.'),
    mode: FileMode.optional().describe(
      'The permission bits in octal. Default: those of the file it replaces, else "0644".',
    ),
    user: user.optional(),
    ...partFields,
  })
  .superRefine(partsNeedId, partsAreSound)

/** The body of a symlink. */
export const MakeSymlink = z
  .strictObject({
    path: RuntimePath.describe('Where the link is made; missing parents are made.'),
    target: z
      .string()
      .min(1)
      .refine(
        (text) => new TextEncoder().encode(text).length < maxPathBytes,
        `must be shorter than ${maxPathBytes} bytes`,
      )
      .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be well-formed Unicode without NUL')
      .describe('What the link says, relative or absolute. Nothing need be there.'),
    overwrite: z.boolean().default(false).describe('Replace what is at the path.'),
  })
  .meta({ id: 'MakeSymlink' })
export type MakeSymlinkInput = z.input<typeof MakeSymlink>

const recursive = z.boolean().default(false).describe('Everything below a directory as well; links are not followed.')

/** The body of a change of mode. */
export const ChangeMode = z
  .strictObject({
    path: RuntimePath.describe('A symlink is followed, but not with `recursive`.'),
    mode: FileMode.describe('The permission bits in octal: `"0644"`.'),
    recursive,
  })
  .meta({ id: 'ChangeMode' })
export type ChangeModeInput = z.input<typeof ChangeMode>

/** The body of a change of owner. */
export const ChangeOwner = z
  .strictObject({
    path: RuntimePath.describe('A symlink is not followed: it gets the owner itself.'),
    user: user.describe('A user name (the group becomes its own), a uid, or uid:gid.'),
    recursive,
  })
  .meta({ id: 'ChangeOwner' })
export type ChangeOwnerInput = z.input<typeof ChangeOwner>

/** The answer of a change of mode or owner. */
export const FileChanged = z
  .object({
    success: z.literal(true).describe('Always true.'),
    path: z.string().describe('The canonical path.'),
    changed: z.number().int().describe('How many files and directories have been set.'),
    entry: FileInfo.describe('The file, as it is now.'),
  })
  .meta({ id: 'FileChanged' })
export type FileChanged = z.infer<typeof FileChanged>

/** The query of a directory list. Entries are sorted by path, at most `limit` at once. */
export const ListFilesQuery = z.strictObject({
  path: RuntimePath.describe('The absolute path of a directory.'),
  depth: z.coerce.number().int().min(1).max(64).default(1).describe('How many levels down.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(1_000)
    .describe('The most entries of a page. Default 1000.'),
  cursor: z.string().min(1).max(8192).optional().describe('`next_cursor` of the page before.'),
})
