import { z } from 'zod'
import * as word from '../answers/words.ts'
import { GuestFile } from '../files/file-schemas.ts'

// Schemas of the guest's answers about whole trees (guest/PROTOCOL.md), made of the words in
// `words.ts`.

const { count } = word

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
