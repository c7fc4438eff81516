import { z } from 'zod'
import { GuestFile } from './schemas.ts'

// What the guest answers about whole trees, as guest/PROTOCOL.md says. As hostile as the rest of it.

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const path = z.string().min(1).max(16_384)
const raw = z.base64().max(16_384).optional()

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
  z.object({
    type: z.enum(['created', 'modified', 'attributes', 'removed']),
    cursor: count,
    path,
    path_base64: raw,
    directory: z.boolean(),
  }),
  z.object({
    type: z.literal('moved'),
    cursor: count,
    path,
    path_base64: raw,
    from: path,
    from_base64: raw,
    directory: z.boolean(),
  }),
  z.object({
    type: z.literal('end'),
    cursor: count,
    reason: z.enum(['removed', 'too_many_directories', 'closed']).optional(),
  }),
])
export type GuestChange = z.infer<typeof GuestChange>
