import { z } from 'zod'
import { GuestFile, guestCodes } from '../schemas.ts'
import * as word from '../answers/words.ts'

// Schemas of the guest's answers about files (guest/PROTOCOL.md), made of the words in `words.ts`.

const { count, path } = word
const raw = word.rawPath.optional()
const isWritten = (named: { path: string; path_base64?: string | undefined }) =>
  word.isTextOf(named.path, named.path_base64)
const position = count.nullable()

/** `POST /v1/files/chmod` and `/chown`. */
export const GuestChanged = z.object({ entry: GuestFile, changed: count })
export type GuestChanged = z.infer<typeof GuestChanged>

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

/** The progress of an upload in parts. */
export const GuestUpload = z.object({
  upload_id: word.uploadId,
  path,
  offset_bytes: count,
  completed: z.boolean(),
})
export type GuestUpload = z.infer<typeof GuestUpload>
