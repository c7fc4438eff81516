import { z } from 'zod'
import { GuestFile } from '../schemas.ts'
import * as word from '../answers/words.ts'

// Schemas of the guest's answers about whole trees (guest/PROTOCOL.md), made of the words in
// `words.ts`.

const { count, path } = word
const raw = word.rawPath.optional()

/** `PUT /v1/files/archive`. */
export const GuestTree = z.object({
  entry: GuestFile,
  files: count,
  directories: count,
  symlinks: count,
  size_bytes: count,
})
export type GuestTree = z.infer<typeof GuestTree>

/** `PUT /v1/apply`. */
export const GuestApplied = z.object({
  files: count,
  directories: count,
  symlinks: count,
  size_bytes: count,
  unpacked: count,
})
export type GuestApplied = z.infer<typeof GuestApplied>

/** A line of `GET /v1/files/watch`. */
export const GuestChange = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['start', 'overflow']), cursor: count }),
  z
    .object({
      type: z.enum(['created', 'modified', 'attributes', 'removed']),
      cursor: count,
      path,
      path_base64: raw,
      directory: z.boolean(),
    })
    .refine(({ path, path_base64 }) => word.isTextOf(path, path_base64), { path: ['path_base64'] }),
  z
    .object({
      type: z.literal('moved'),
      cursor: count,
      path,
      path_base64: raw,
      from: path,
      from_base64: raw,
      directory: z.boolean(),
    })
    .refine(({ path, path_base64 }) => word.isTextOf(path, path_base64), { path: ['path_base64'] })
    .refine(({ from, from_base64 }) => word.isTextOf(from, from_base64), { path: ['from_base64'] }),
  z.object({
    type: z.literal('end'),
    cursor: count,
    reason: z.enum(['removed', 'too_many_directories', 'closed']).optional(),
  }),
])
export type GuestChange = z.infer<typeof GuestChange>
