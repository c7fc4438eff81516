import { z } from 'zod'
import { FileInfo, UserName } from './file.ts'
import { isSet } from './flag.ts'
import { ifSound } from './if-sound.ts'
import { RuntimePath } from './runtime-path.ts'

/** The formats of a tree as one stream. */
export const archiveFormats = ['tar', 'tar.gz'] as const
export type ArchiveFormat = (typeof archiveFormats)[number]

/** The default for the most entries of an archive. */
export const defaultMaxEntries = 200_000

const flag = z.enum(['true', 'false', '1', '0']).default('false')

/** The query of a download of a tree. */
export const ArchiveQuery = z.strictObject({
  path: RuntimePath.describe('The directory to archive. In the archive it is `./`.'),
  format: z
    .enum(archiveFormats)
    .default('tar')
    .describe('The format of the archive: `tar` or `tar.gz`. Default `tar`.'),
})

/** The query of an upload of a tree. */
export const ExtractQuery = z
  .strictObject({
    path: RuntimePath.describe('The directory to create from the archive.'),
    format: z
      .enum(archiveFormats)
      .optional()
      .describe('The format of the archive. Default: detected from its first bytes.'),
    user: UserName.optional().describe('The owner of the created files. Default: the user of the template.'),
    keep_owners: flag.describe(
      'True: keep the owners, set-id bits and system attributes of the archive. Default false.',
    ),
    overwrite: flag.describe(
      'True: replace the existing directory as a whole. Default false: an existing directory is an error.',
    ),
    merge: flag.describe(
      'True: unpack into the existing directory. Files are replaced; other files of the directory stay. Excludes `overwrite`. Default false.',
    ),
    max_entries: z.coerce
      .number()
      .int()
      .min(1)
      .max(10_000_000)
      .default(defaultMaxEntries)
      .describe('The most entries that the archive may have. Default 200,000.'),
    max_bytes: z.coerce
      .number()
      .int()
      .min(1)
      .max(2 ** 50)
      .optional()
      .describe(
        'The most bytes of the unpacked files. Above 1 GiB, the limit is also 200 times the uploaded size. Default: only the free disk limits it.',
      ),
  })
  .superRefine(
    (query, context) => {
      if (isSet(query.overwrite) && isSet(query.merge))
        context.addIssue({ code: 'custom', path: ['merge'], message: 'give one of overwrite and merge' })
      if (isSet(query.keep_owners) && query.user !== undefined)
        context.addIssue({ code: 'custom', path: ['user'], message: 'give one of user and keep_owners' })
    },
    ifSound('overwrite', 'merge', 'keep_owners', 'user'),
  )

/** The answer of an upload of a tree. */
export const TreeExtracted = z
  .object({
    success: z.literal(true).describe('Always true.'),
    path: z.string().describe('The path of the created directory.'),
    entry: FileInfo.describe('The created directory.'),
    files: z.number().int().describe('The number of created files of every type except directories.'),
    directories: z.number().int().describe('The number of directories below the path.'),
    symlinks: z.number().int().describe('The number of symlinks among the files.'),
    size_bytes: z.number().int().describe('The total size of the file contents in bytes.'),
  })
  .meta({ id: 'TreeExtracted' })
export type TreeExtracted = z.infer<typeof TreeExtracted>

/** The query of a watch. */
export const WatchQuery = z.strictObject({
  path: RuntimePath.describe('The directory to watch.'),
  recursive: flag.describe('True: also watch every directory below, including new ones. Default false.'),
  cursor: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Answer only changes after this cursor, without a `start` item. Default: only new changes.'),
})

const cursor = z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.')
const path = z.string().describe('The path. U+FFFD replaces bytes that are not UTF-8.')
const raw = z.string().optional().describe('The raw bytes of the path in base64; absent if the path is UTF-8.')
const directory = z.boolean().describe('True if the changed file is a directory.')

/** The kinds of changes that a watch reports. */
export const changeTypes = ['created', 'modified', 'attributes', 'removed'] as const

/** An item of a watch. */
export const WatchItem = z
  .discriminatedUnion('type', [
    z
      .object({ type: z.literal('start').describe('The first item: changes from now on are reported.'), cursor })
      .describe('The first item of a new watch. Every later change is reported.'),
    z.object({
      type: z.enum(changeTypes).describe('The type of the change. `attributes`: the mode, owner or times changed.'),
      cursor,
      path,
      path_base64: raw,
      directory,
    }),
    z.object({
      type: z.literal('moved').describe('A file was renamed or moved within the watched directories.'),
      cursor,
      path: path.describe('The new path. U+FFFD replaces bytes that are not UTF-8.'),
      path_base64: raw,
      from: path.describe('The old path. U+FFFD replaces bytes that are not UTF-8.'),
      from_base64: raw,
      directory,
    }),
    z
      .object({
        type: z.literal('overflow').describe('Changes were lost before the cursor. Read the directory again.'),
        cursor,
      })
      .describe('Changes before this cursor were lost. Read the directory again.'),
    z.object({
      type: z.literal('end').describe('The last item: nothing follows.'),
      cursor,
      reason: z
        .enum(['removed', 'too_many_directories', 'closed'])
        .optional()
        .describe(
          'The reason for the end: the directory was removed, it has too many directories, or the service closed the watch; absent if there is none.',
        ),
    }),
  ])
  .meta({ id: 'WatchItem' })
export type WatchItem = z.infer<typeof WatchItem>
