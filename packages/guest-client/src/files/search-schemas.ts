import { z } from 'zod'
import { guestCodes } from '../answers/failure-schema.ts'
import * as word from '../answers/words.ts'

// Schemas of the guest's answers about searches (guest/PROTOCOL.md).

const { count, path } = word
const raw = word.rawPath.optional()
const isWritten = (named: { path: string; path_base64?: string | undefined }) =>
  word.isTextOf(named.path, named.path_base64)
const position = count.nullable()

/** A line of a search's stream. */
export const GuestSearchItem = z.discriminatedUnion('type', [
  z
    .object({
      type: z.literal('match'),
      cursor: count,
      path,
      path_base64: raw,
      kind: word.fileType,
      line: position,
      column: position,
      length: position,
      text: word.sentence.max(4096).nullable(),
      text_truncated: z.boolean(),
    })
    .refine(isWritten, { path: ['path_base64'] }),
  z.object({
    type: z.literal('end'),
    cursor: count,
    truncated: z.enum(['max_results', 'max_bytes', 'timeout']).nullable(),
    files_searched: count,
    files_skipped: count,
  }),
])
export type GuestSearchItem = z.infer<typeof GuestSearchItem>

/** `POST /v1/files/replace`. */
export const GuestReplaced = z.object({
  files: z
    .array(
      z
        .object({
          path,
          path_base64: raw,
          count,
          error: z.object({ code: z.enum(guestCodes), message: word.sentence }).nullable(),
        })
        .refine(isWritten, { path: ['path_base64'] }),
    )
    .max(1000),
  total_count: count,
})
export type GuestReplaced = z.infer<typeof GuestReplaced>
