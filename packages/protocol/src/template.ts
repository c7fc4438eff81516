import { z } from 'zod'
import { Ignored } from './build.ts'
import { idSchema } from './ids.ts'
import { pageQuery, Timestamp } from './page.ts'
import { Text } from './text.ts'

/** Who made a template: Holt itself, Holt from a Dockerfile when it is first asked for, or a build of the project. */
export const templateKinds = ['system', 'agent', 'custom'] as const

/** Every state of a template. One that is ready stays so while it is built anew, and where that fails. */
export const templateStates = ['building', 'ready', 'failed', 'unbuilt'] as const

/** A template: a filesystem image with a size, from which runtimes are made. */
export const Template = z
  .object({
    template_id: idSchema('template'),
    name: z.string(),
    tag: z.string(),
    kind: z.enum(templateKinds),
    state: z
      .enum(templateStates)
      .describe('`unbuilt`: an agent template that nobody has asked for yet; a create that names it has it built.'),
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
    size_bytes: z.number().int().nullable().describe('Its image and its checkpoint.'),
    env: z.record(z.string(), z.string()),
    user: z.string(),
    workdir: z.string(),
    facts: z
      .record(z.string(), z.string())
      .describe('What is inside: versions, and where the Python interpreter is from.'),
    start_cmd: z.string().nullable(),
    ready_cmd: z.string().nullable(),
    on_restore: z.string().nullable(),
    starts: z
      .enum(['restored', 'boot'])
      .nullable()
      .describe(
        '`restored`: the start command is running in what runtimes are restored from; runtimes of the class `container` or of another size run it at boot. `boot`: it is run when a runtime starts. Null: there is none.',
      ),
    ignored: z.array(Ignored).describe('Instructions that its build left out.'),
    ports: z.array(z.string()).describe('What EXPOSE named: `8080/tcp`. Every port can be reached, named or not.'),
    labels: z.record(z.string(), z.string()),
    build_id: idSchema('build').nullable().describe('The newest build of it.'),
    has_checkpoint: z.boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Template' })
export type Template = z.infer<typeof Template>

/** The query of the list of templates. */
export const ListTemplatesQuery = z.strictObject({
  ...pageQuery,
  name: Text.max(63).optional(),
  kind: z.enum(templateKinds).optional(),
  state: z.enum(templateStates).optional(),
})

/** The template that a create without `template` takes. */
export const defaultTemplate = 'base-small'

/** The sizes of the system templates. They share one image. */
export const systemTemplateSizes = [
  { name: 'base-small', cpu: 1, memoryMiB: 1024, diskMiB: 4096 },
  { name: 'base-medium', cpu: 2, memoryMiB: 4096, diskMiB: 8192 },
  { name: 'base-large', cpu: 4, memoryMiB: 8192, diskMiB: 16384 },
] as const
