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
  path: RuntimePath.describe('A directory. The archive has it as `./` and everything below.'),
  format: z
    .enum(archiveFormats)
    .default('tar')
    .describe('The format of the archive: `tar` or `tar.gz`. Default `tar`.'),
})

/** The query of an upload of a tree. */
export const ExtractQuery = z
  .strictObject({
    path: RuntimePath.describe('The directory that the archive becomes.'),
    format: z.enum(archiveFormats).optional().describe('Default: what its first bytes say.'),
    user: UserName.optional().describe("Who owns what is made; default the template's user."),
    keep_owners: flag.describe('Owners, set-id bits and system attributes as the archive has them.'),
    overwrite: flag.describe('Replace what is there; never merge.'),
    merge: flag.describe(
      'Into the directory that is there: files are replaced, directories keep what they have. Excludes `overwrite`.',
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
      .describe('What it may unpack to. Beyond 1 GiB it is also at most 200 times what was sent.'),
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
    path: z.string().describe('The directory that the archive became.'),
    entry: FileInfo.describe('The directory itself.'),
    files: z.number().int().describe('Everything but directories.'),
    directories: z.number().int().describe('Below the path.'),
    symlinks: z.number().int().describe('Symlinks among the files.'),
    size_bytes: z.number().int().describe('Of the contents of all files.'),
  })
  .meta({ id: 'TreeExtracted' })
export type TreeExtracted = z.infer<typeof TreeExtracted>

/** The query of a watch. */
export const WatchQuery = z.strictObject({
  path: RuntimePath.describe('A directory.'),
  recursive: flag.describe('Everything below as well, directories that are made later included.'),
  cursor: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Give what follows this cursor, without a `start`. Without it: what changes from now on.'),
})

const cursor = z.number().int().describe('Resume after this item with ?cursor=.')
const path = z.string().describe('U+FFFD stands for bytes that are not UTF-8.')
const raw = z.string().optional().describe('The raw bytes of the path, where they are not UTF-8.')
const directory = z.boolean().describe('Whether it is a directory.')

/** The kinds of changes that a watch reports. */
export const changeTypes = ['created', 'modified', 'attributes', 'removed'] as const

/** An item of a watch. */
export const WatchItem = z
  .discriminatedUnion('type', [
    z
      .object({ type: z.literal('start').describe('The first item: changes from now on are reported.'), cursor })
      .describe('All that changes after this is told.'),
    z.object({
      type: z.enum(changeTypes).describe('What happened. `attributes`: mode, owner or times changed.'),
      cursor,
      path,
      path_base64: raw,
      directory,
    }),
    z.object({
      type: z.literal('moved').describe('Something was renamed or moved.'),
      cursor,
      path: path.describe('Where it is now.'),
      path_base64: raw,
      from: path.describe('Where it was.'),
      from_base64: raw,
      directory,
    }),
    z
      .object({
        type: z.literal('overflow').describe('Changes were lost before the cursor. Read the directory again.'),
        cursor,
      })
      .describe('Changes before this were lost: look at everything anew.'),
    z.object({
      type: z.literal('end').describe('The last item: nothing follows.'),
      cursor,
      reason: z
        .enum(['removed', 'too_many_directories', 'closed'])
        .optional()
        .describe('The directory is gone, or there is too much to watch.'),
    }),
  ])
  .meta({ id: 'WatchItem' })
export type WatchItem = z.infer<typeof WatchItem>
