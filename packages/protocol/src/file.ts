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

const user = UserName.describe('The owner of the created files. Default: the user of the template.')

/** The facts about a file. */
export const FileInfo = z
  .object({
    path: z.string().describe('The path. U+FFFD replaces bytes that are not UTF-8.'),
    name: z.string().describe('The last part of the path.'),
    type: z
      .enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device'])
      .describe('The type of the file. A symlink is not followed.'),
    size_bytes: z.number().int().describe('The size in bytes.'),
    mode: z.string().describe('The permission bits in octal, such as "0644".'),
    permissions: z.string().describe('The permissions in the form of `ls -l`, such as "rw-r--r--".'),
    uid: z.number().int().describe('The user id of the owner.'),
    gid: z.number().int().describe('The group id of the group.'),
    user: z.string().describe('The name of the owner, or the user id if it has no name.'),
    group: z.string().describe('The name of the group, or the group id if it has no name.'),
    modified_at: Timestamp.describe('When the content last changed (RFC 3339 UTC with milliseconds).'),
    symlink_target: z
      .string()
      .nullable()
      .describe('The target of a symlink, as stored in the link; null for other files.'),
    path_base64: z.string().optional().describe('The raw bytes of the path in base64; absent if the path is UTF-8.'),
    etag: z
      .string()
      .optional()
      .describe('The etag of the content, for `If-Match` of a write; absent for anything but a regular file.'),
  })
  .meta({ id: 'FileInfo' })
export type FileInfo = z.infer<typeof FileInfo>

/** The body of a copy. */
export const CopyFile = z
  .strictObject({
    source: RuntimePath.describe('The absolute path of the file or directory to copy.'),
    destination: RuntimePath.describe('The absolute path of the copy, including its name.'),
    recursive: z
      .boolean()
      .default(false)
      .describe('True: copy a directory with its content. Required for a directory. Default false.'),
    overwrite: z
      .boolean()
      .default(false)
      .describe('True: replace the file or directory at the destination as a whole. Default false.'),
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
    source: RuntimePath.describe('The absolute path of the file or directory to move.'),
    destination: RuntimePath.describe('The new absolute path, including the name.'),
    overwrite: z
      .boolean()
      .default(false)
      .describe('True: replace the file or directory at the destination. Default false.'),
  })
  .meta({ id: 'MoveFile', examples: [{ source: '/workspace/draft.txt', destination: '/workspace/final.txt' }] })
export type MoveFileInput = z.input<typeof MoveFile>

/** The body of a mkdir. */
export const MakeDirectory = z
  .strictObject({
    path: RuntimePath.describe('The absolute path of the directory.'),
    parents: z
      .boolean()
      .default(true)
      .describe('True: create missing parents, and accept an existing directory. Default true.'),
    mode: FileMode.optional().describe('The permission bits in octal. Default "0755".'),
    user: user.optional(),
  })
  .meta({ id: 'MakeDirectory' })
export type MakeDirectoryInput = z.input<typeof MakeDirectory>

/** The body of a remove. */
export const RemoveFile = z
  .strictObject({
    path: RuntimePath.describe('The absolute path to remove. Of a symlink, the link is removed, not its target.'),
    recursive: z
      .boolean()
      .default(false)
      .describe(
        'True: remove a directory with its content. Required for a directory that is not empty. Default false.',
      ),
  })
  .meta({ id: 'RemoveFile' })
export type RemoveFileInput = z.input<typeof RemoveFile>

/** The query of routes that take one path. */
export const PathQuery = z.strictObject({ path: RuntimePath.describe('An absolute path inside the runtime.') })

/** The query of a write. */
export const WriteQuery = z
  .strictObject({
    path: RuntimePath.describe('The absolute path of the file. Missing parents are created.'),
    mode: FileMode.optional().describe(
      'The permission bits in octal. Default: the bits of the replaced file, or "0644" for a new file.',
    ),
    user: user.optional(),
    ...partFields,
  })
  .superRefine(partsNeedId, partsAreSound)

/** The body of a symlink. */
export const MakeSymlink = z
  .strictObject({
    path: RuntimePath.describe('The absolute path of the link. Missing parents are created.'),
    target: z
      .string()
      .min(1)
      .refine(
        (text) => new TextEncoder().encode(text).length < maxPathBytes,
        `must be shorter than ${maxPathBytes} bytes`,
      )
      .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be well-formed Unicode without NUL')
      .describe('The target of the link, relative or absolute. It does not have to exist.'),
    overwrite: z.boolean().default(false).describe('True: replace the file at the path. Default false.'),
  })
  .meta({ id: 'MakeSymlink' })
export type MakeSymlinkInput = z.input<typeof MakeSymlink>

const recursive = z
  .boolean()
  .default(false)
  .describe('True: also change everything below a directory; symlinks are not followed. Default false.')

/** The body of a change of mode. */
export const ChangeMode = z
  .strictObject({
    path: RuntimePath.describe('The absolute path. A symlink is followed, except with `recursive`.'),
    mode: FileMode.describe('The permission bits in octal: `"0644"`.'),
    recursive,
  })
  .meta({ id: 'ChangeMode' })
export type ChangeModeInput = z.input<typeof ChangeMode>

/** The body of a change of owner. */
export const ChangeOwner = z
  .strictObject({
    path: RuntimePath.describe('The absolute path. A symlink is not followed: the link itself gets the owner.'),
    user: user.describe(
      'The new owner: a user name, a uid, or `uid:gid`. A user name also sets the group to the group of that user.',
    ),
    recursive,
  })
  .meta({ id: 'ChangeOwner' })
export type ChangeOwnerInput = z.input<typeof ChangeOwner>

/** The answer of a change of mode or owner. */
export const FileChanged = z
  .object({
    success: z.literal(true).describe('Always true.'),
    path: z.string().describe('The canonical path.'),
    changed: z.number().int().describe('The number of changed files and directories.'),
    entry: FileInfo.describe('The file after the change.'),
  })
  .meta({ id: 'FileChanged' })
export type FileChanged = z.infer<typeof FileChanged>

/** The query of a directory list. Entries are sorted by path, at most `limit` at once. */
export const ListFilesQuery = z.strictObject({
  path: RuntimePath.describe('The absolute path of a directory.'),
  depth: z.coerce.number().int().min(1).max(64).default(1).describe('The number of levels to list. Default 1.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(1_000)
    .describe('The most entries in a page. Default 1000.'),
  cursor: z
    .string()
    .min(1)
    .max(8192)
    .optional()
    .describe('The `next_cursor` of the previous page. Default: the first page.'),
})
