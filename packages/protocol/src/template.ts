import { z } from 'zod'
import { Ignored } from './build.ts'
import { idSchema } from './ids.ts'
import { pageQuery, Timestamp } from './page.ts'
import { Text } from './text.ts'

/**
 * The makers of a template: Holt itself, Holt from a Dockerfile on first use, or a build of the
 * project.
 */
export const templateKinds = ['system', 'agent', 'custom'] as const

/**
 * The states of a template. A ready template stays ready during a new build, and if that build
 * fails.
 */
export const templateStates = ['building', 'ready', 'failed', 'unbuilt'] as const

/** A template: a filesystem image with a size, from which runtimes are made. */
export const Template = z
  .object({
    template_id: idSchema('template').describe('The id of the template.'),
    name: z.string().describe('Its name, shared by its tags.'),
    tag: z.string().describe('Its tag, such as `latest`.'),
    kind: z
      .enum(templateKinds)
      .describe(
        "`system`: Holt's own. `agent`: Holt's own, built when it is first asked for. `custom`: built by the project.",
      ),
    state: z
      .enum(templateStates)
      .describe('`unbuilt`: an agent template that nobody has asked for yet; a create that names it has it built.'),
    state_reason: z
      .object({
        code: z.string().describe('The kind of failure, for programs.'),
        message: z.string().describe('What happened, in a sentence.'),
      })
      .nullable()
      .describe('Why it failed; else null.'),
    progress: z
      .object({
        phase: z.string().describe('What is being done.'),
        done: z.number().describe('How much is done, in the unit of `total`.'),
        total: z.number().describe('How much there is to do.'),
      })
      .nullable()
      .describe('How far a build is; null when none runs.'),
    source: z.string().describe('What it was made from.'),
    image_digest: z.string().nullable().describe('The digest of its image; null until it is built.'),
    cpu: z.number().describe('The default vCPUs of its runtimes.'),
    memory_mib: z.number().int().describe('The default memory of its runtimes in MiB.'),
    disk_mib: z.number().int().describe('The default disk of its runtimes in MiB, which is also the smallest.'),
    size_bytes: z.number().int().nullable().describe('Its image and its checkpoint.'),
    env: z.record(z.string(), z.string()).describe('Environment variables of its runtimes.'),
    user: z.string().describe('The user that commands run as by default.'),
    workdir: z.string().describe('The directory that commands start in by default.'),
    facts: z
      .record(z.string(), z.string())
      .describe('What is inside: versions, and where the Python interpreter is from.'),
    start_cmd: z.string().nullable().describe('Is running in each runtime; null: nothing is.'),
    ready_cmd: z.string().nullable().describe('Exits 0 when `start_cmd` is ready; null: nothing is waited for.'),
    on_restore: z
      .string()
      .nullable()
      .describe('Is run in each new runtime before it is handed over; null: nothing is.'),
    starts: z
      .enum(['restored', 'boot'])
      .nullable()
      .describe(
        '`restored`: the start command is running in what runtimes are restored from; runtimes of the class `container` or of another size run it at boot. `boot`: it is run when a runtime starts. Null: there is none.',
      ),
    ignored: z.array(Ignored).describe('Instructions that its build left out.'),
    ports: z.array(z.string()).describe('What EXPOSE named: `8080/tcp`. Every port can be reached, named or not.'),
    labels: z.record(z.string(), z.string()).describe('The labels of its image.'),
    build_id: idSchema('build').nullable().describe('The newest build of it.'),
    has_checkpoint: z.boolean().describe('True if runtimes are restored from a checkpoint; false: they boot.'),
    created_at: Timestamp.describe('When it was made (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When it changed last (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Template' })
export type Template = z.infer<typeof Template>

/** The query of the list of templates. */
export const ListTemplatesQuery = z.strictObject({
  ...pageQuery,
  name: Text.max(63).optional().describe('Only templates with this name.'),
  kind: z.enum(templateKinds).optional().describe('Only templates of this kind.'),
  state: z.enum(templateStates).optional().describe('Only templates in this state.'),
})

/** The default template of a create. */
export const defaultTemplate = 'base-small'

/** The sizes of the system templates. They share one image. */
export const systemTemplateSizes = [
  { name: 'base-small', cpu: 1, memoryMiB: 1024, diskMiB: 4096 },
  { name: 'base-medium', cpu: 2, memoryMiB: 4096, diskMiB: 8192 },
  { name: 'base-large', cpu: 4, memoryMiB: 8192, diskMiB: 16384 },
] as const
