import { z } from 'zod'
import { ifSound } from './if-sound.ts'
import { RuntimePath } from './runtime-path.ts'

const uploadId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{8,64}$/, 'must be 8 to 64 letters, digits, _ or -')
  .meta({
    description: 'Chosen by the client; parts with the same one and the same path make one file.',
    examples: ['first-upload'],
  })

/** The fields of a write in parts. */
export const partFields = {
  upload_id: uploadId.optional(),
  offset: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('The number of bytes in the parts before this one. Default 0.'),
  partial: z
    .enum(['true', 'false', '1', '0'])
    .optional()
    .describe('True: more parts follow, and the file does not exist yet. Default false: this is the last part.'),
}

/** Refuses the fields of a part if the upload's id is missing. */
export function partsNeedId(
  { upload_id, offset, partial }: { upload_id?: unknown; offset?: unknown; partial?: unknown },
  context: z.RefinementCtx,
): void {
  if (upload_id === undefined && (offset !== undefined || partial !== undefined))
    context.addIssue({ code: 'custom', path: ['upload_id'], message: 'is needed with offset and partial' })
}

/** The condition under which `partsNeedId` runs. */
export const partsAreSound = ifSound('upload_id', 'offset', 'partial')

/** The query of routes about an upload. */
export const UploadQuery = z.strictObject({
  path: RuntimePath.describe('The absolute path of the file.'),
  upload_id: uploadId,
})

/** The progress of an upload in parts. */
export const Upload = z
  .object({
    upload_id: z.string().describe('The id of the upload, which the client chose.'),
    path: z.string().describe('The absolute path of the file.'),
    offset_bytes: z.number().int().describe('The number of received bytes. The next part begins at this offset.'),
    completed: z.boolean().describe('True if the upload is complete and the file exists.'),
  })
  .meta({ id: 'Upload' })
export type Upload = z.infer<typeof Upload>
