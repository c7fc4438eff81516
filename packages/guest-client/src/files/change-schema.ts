import { z } from 'zod'
import * as word from '../answers/words.ts'

const { count, path } = word
const raw = word.rawPath.optional()

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
