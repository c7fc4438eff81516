import { z } from 'zod'
import { RuntimePath } from './runtime-path.ts'
import { Text } from './text.ts'

/** The maximum number of changes in a page of a diff. */
export const maxChanges = 1000

/** The query of a diff. */
export const DiffQuery = z.strictObject({
  path: RuntimePath.default('/').describe(
    'Only changes at this path and below it. Symlinks are not followed. Default `/`.',
  ),
  since: Text.min(1)
    .max(63)
    .optional()
    .describe(
      'A snapshot of this runtime by id or name, or `image` for the image below the runtime. A memory snapshot needs `record_files`. Default: the fork or memory snapshot that the runtime was made from, if that has a record of the files, or else the image.',
    ),
  patch: z
    .enum(['true', 'false', '1', '0'])
    .default('false')
    .describe('True: also answer a patch of the changes of this page. Default false.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(maxChanges)
    .default(maxChanges)
    .describe('The most changes in a page. Default 1000.'),
  cursor: z
    .string()
    .min(1)
    .max(8192)
    .optional()
    .describe('The `next_cursor` of the previous page. Default: the first page.'),
})

/** The types of entries in a diff. */
const entryType = z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device', 'unknown'])

/** The kinds of changes in a diff. */
export const changeKinds = ['added', 'modified', 'removed', 'type_changed', 'attributes'] as const

const mode = z.string().regex(/^[0-7]{4}$/)

/** A change in a diff. */
export const DiffEntry = z
  .object({
    path: z.string().describe('The path. U+FFFD replaces bytes that are not UTF-8.'),
    path_base64: z.string().optional().describe('The raw bytes of the path in base64; absent if the path is UTF-8.'),
    change: z
      .enum(changeKinds)
      .describe('The change. `modified`: the content. `attributes`: only the mode or the owner.'),
    type: entryType.nullable().describe('The type now; null if it was removed.'),
    previous_type: entryType.nullable().describe('The type before; null if it was added.'),
    size_bytes: z.number().int().nullable().describe('The size of the file in bytes; null for anything but a file.'),
    previous_size_bytes: z
      .number()
      .int()
      .nullable()
      .describe('The size of the file before, in bytes; null for anything but a file.'),
    mode: mode.nullable().describe('The mode in octal digits; null if it was removed.'),
    previous_mode: mode.nullable().describe('The mode before, in octal digits; null if it was added.'),
    uid: z.number().int().nullable().describe('The user id of the owner; null if it was removed.'),
    previous_uid: z.number().int().nullable().describe('The user id of the owner before; null if it was added.'),
    gid: z.number().int().nullable().describe('The group id; null if it was removed.'),
    previous_gid: z.number().int().nullable().describe('The group id before; null if it was added.'),
    patch: z
      .enum(['shown', 'binary', 'too_large', 'not_in_git', 'changed_meanwhile', 'patch_full', 'not_kept'])
      .nullable()
      .describe(
        'The part in the patch; null without one. `binary` and `too_large`: a comment names the file. `not_in_git`: git does not record the change. `patch_full`: the patch has no room left. `not_kept`: the runtime has no copy of the file as it was at a memory snapshot or a fork; a comment names the file.',
      ),
  })
  .meta({ id: 'DiffEntry' })
export type DiffEntry = z.infer<typeof DiffEntry>

/** The answer of a diff. */
export const FileDiff = z
  .object({
    since: z
      .object({
        type: z.enum(['template', 'snapshot', 'fork']).describe('The kind of the base.'),
        id: z.string().describe('The id of the template or the snapshot; for a fork that of the parent.'),
        name: z.string().nullable().describe('The name of the template or the snapshot; null if it has none.'),
      })
      .describe('The base that the changes are relative to.'),
    data: z.array(DiffEntry).describe('The changes of this page, sorted by the bytes of their paths.'),
    next_cursor: z
      .string()
      .nullable()
      .describe('The `cursor` of the next page; null on the last page. A page can have fewer changes than `limit`.'),
    truncated: z
      .boolean()
      .describe('True if changes are missing: more pages follow, or paths of more than 4,096 bytes were left out.'),
    patch: z
      .string()
      .nullable()
      .describe(
        'The changes of this page in the format of git, for `git apply` in a copy of `path`; null without `patch`. At most 8 MiB.',
      ),
    patch_complete: z
      .boolean()
      .nullable()
      .describe('True if the patch shows every change of this page that git records; null without `patch`.'),
  })
  .meta({ id: 'FileDiff' })
export type FileDiff = z.infer<typeof FileDiff>
