import { z } from 'zod'
import * as word from '../answers/words.ts'

// Schemas of the guest's answers about files (guest/PROTOCOL.md), made of the words in `words.ts`.

const { count } = word

/** The guest's facts about a file. */
export const GuestFile = z
  .object({
    path: word.path,
    name: z.string(),
    type: word.fileType,
    size_bytes: count,
    mode: word.mode,
    permissions: word.permissions,
    uid: word.ownerId,
    gid: word.ownerId,
    user: word.owner,
    group: word.owner,
    modified_at_ms: word.fileTimeMs,
    symlink_target: word.linkTarget.nullable(),
    path_base64: word.rawPath.optional(),
    etag: word.etag.optional(), // Also absent from a guest of an earlier version.
  })
  .refine(({ name, path }) => name === word.lastPartOf(path), { path: ['name'] })
  .refine(({ path, path_base64 }) => word.isTextOf(path, path_base64), { path: ['path_base64'] })
export type GuestFile = z.infer<typeof GuestFile>

/** `GET /v1/files/list`. */
export const GuestFiles = z.object({ entries: z.array(GuestFile).max(10_000), more: z.boolean() })
export type GuestFiles = z.infer<typeof GuestFiles>

/** The headers of a file's content. */
export const GuestContentHeaders = z.object({
  'content-length': z
    .string()
    .regex(/^\d{1,16}$/)
    .optional(),
  'content-range': z
    .string()
    .regex(/^bytes (?:\d{1,16}-\d{1,16}|\*)\/\d{1,16}$/)
    .optional(),
  etag: word.etag.optional(),
  // Programs inside may set a time in any year.
  'last-modified': z
    .string()
    .regex(/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} -?\d{4,12} \d{2}:\d{2}:\d{2} GMT$/)
    .optional(),
  'x-holt-mode': word.mode.optional(),
})
export type GuestContentHeaders = z.infer<typeof GuestContentHeaders>

/** `POST /v1/files/chmod` and `/chown`. */
export const GuestChanged = z.object({ entry: GuestFile, changed: count })
export type GuestChanged = z.infer<typeof GuestChanged>

/** The progress of an upload in parts. */
export const GuestUpload = z.object({
  upload_id: word.uploadId,
  path: word.path,
  offset_bytes: count,
  completed: z.boolean(),
})
export type GuestUpload = z.infer<typeof GuestUpload>
