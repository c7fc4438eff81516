import { Text } from '@holt/protocol'
import { z } from 'zod'
import * as word from '../answers/words.ts'
import { GuestFile } from './file-schemas.ts'

/** The longest attribute of a file: the guest reports 4,096 bytes of them together. */
const attribute = Text.max(4096)

/** A file with the facts that a request asks for. */
export const GuestEntry = z.intersection(
  GuestFile,
  z.object({
    /** The absolute path that a symlink leads to in the end; absent if it leads nowhere. */
    resolved_target: word.path.optional(),
    /** The type of the file at `resolved_target`. */
    target_type: word.fileType.optional(),
    /** The attributes by their names without the requested prefix; absent if there are none. */
    attributes: z.record(attribute.min(1), attribute).optional(),
  }),
)
export type GuestEntry = z.infer<typeof GuestEntry>

/** A part of the entries below a directory. */
export const GuestEntries = z.object({ entries: z.array(GuestEntry).max(10_000), more: z.boolean() })
export type GuestEntries = z.infer<typeof GuestEntries>
