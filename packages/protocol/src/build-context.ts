import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Timestamp } from './page.ts'

/** A stored build context. */
export const BuildContext = z
  .object({
    context_id: idSchema('context').describe('The id of the context, for the field `context_id` of a build.'),
    sha256: z.string().describe('The SHA-256 digest of the uploaded archive, in hexadecimal.'),
    size_bytes: z.number().int().describe('The size of the uploaded archive in bytes.'),
    entries: z.number().int().describe('The number of files, directories and links in the archive.'),
    expires_at: Timestamp.describe(
      'When the context is deleted (RFC 3339 UTC with milliseconds). Each build that uses it extends this time.',
    ),
  })
  .meta({ id: 'BuildContext' })
export type BuildContext = z.infer<typeof BuildContext>
