import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Timestamp } from './page.ts'

/** A template: a filesystem image with a size, from which runtimes are made. */
export const Template = z
  .object({
    template_id: idSchema('template'),
    name: z.string(),
    tag: z.string(),
    kind: z.enum(['system']),
    state: z.enum(['building', 'ready', 'failed']),
    state_reason: z.object({ code: z.string(), message: z.string() }).nullable(),
    progress: z
      .object({ phase: z.string(), done: z.number(), total: z.number() })
      .nullable()
      .describe('How far a build is; null when none runs.'),
    source: z.string().describe('What it was made from.'),
    image_digest: z.string().nullable(),
    cpu: z.number(),
    memory_mib: z.number().int(),
    disk_mib: z.number().int(),
    size_bytes: z.number().int().nullable(),
    env: z.record(z.string(), z.string()),
    user: z.string(),
    workdir: z.string(),
    facts: z
      .record(z.string(), z.string())
      .describe('What is inside: versions, and where the Python interpreter is from.'),
    has_checkpoint: z.boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Template' })
export type Template = z.infer<typeof Template>

/** The template that a create without `template` takes. */
export const defaultTemplate = 'base-small'

/** The sizes of the system templates. They share one image. */
export const systemTemplateSizes = [
  { name: 'base-small', cpu: 1, memoryMiB: 1024, diskMiB: 4096 },
  { name: 'base-medium', cpu: 2, memoryMiB: 4096, diskMiB: 8192 },
  { name: 'base-large', cpu: 4, memoryMiB: 8192, diskMiB: 16384 },
] as const
