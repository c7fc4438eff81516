import { z } from 'zod'
import { GuestFile } from './schemas.ts'

// What the guest answers about files, as guest/PROTOCOL.md says. The guest is hostile: every number, string and list is bounded here.

const path = z.string().max(16_384)
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const position = count.nullable()

/** `POST /v1/files/chmod` and `/chown`. */
export const GuestChanged = z.object({ entry: GuestFile, changed: count })
export type GuestChanged = z.infer<typeof GuestChanged>

/** A line of a search's stream. */
export const GuestSearchItem = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('match'),
    cursor: count,
    path,
    path_base64: path.optional(),
    kind: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device']),
    line: position,
    column: position,
    length: position,
    text: z.string().max(4096).nullable(),
    text_truncated: z.boolean(),
  }),
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
      z.object({
        path,
        path_base64: path.optional(),
        count,
        error: z.object({ code: z.string().max(64), message: path }).nullable(),
      }),
    )
    .max(1000),
  total_count: count,
})
export type GuestReplaced = z.infer<typeof GuestReplaced>

/** How far an upload in parts is. */
export const GuestUpload = z.object({
  upload_id: z.string().max(64),
  path,
  offset_bytes: count,
  completed: z.boolean(),
})
export type GuestUpload = z.infer<typeof GuestUpload>
