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
    name: z.string().describe('The name of the template. All its tags share it.'),
    tag: z.string().describe('The tag of the template, such as `latest`.'),
    kind: z
      .enum(templateKinds)
      .describe(
        'The kind of template. `system`: part of Holt. `agent`: part of Holt, built at its first use. `custom`: built by the project.',
      ),
    state: z
      .enum(templateStates)
      .describe(
        'The state of the template. `unbuilt`: an agent template before its first use; a create that names it builds it.',
      ),
    state_reason: z
      .object({
        code: z.string().describe('The kind of failure, for programs.'),
        message: z.string().describe('A sentence for people that says what happened.'),
      })
      .nullable()
      .describe('Why the template failed; null if it has not failed.'),
    progress: z
      .object({
        phase: z.string().describe('The current phase of the build.'),
        done: z.number().describe('The completed amount, in the unit of `total`.'),
        total: z.number().describe('The total amount.'),
      })
      .nullable()
      .describe('The progress of the running build; null if none runs.'),
    source: z.string().describe('The image, template or snapshot that the template was built from.'),
    image_digest: z.string().nullable().describe('The digest of the image; null until the template is built.'),
    cpu: z.number().describe('The default vCPUs of its runtimes.'),
    memory_mib: z.number().int().describe('The default memory of its runtimes in MiB.'),
    disk_mib: z.number().int().describe('The default disk of its runtimes in MiB, which is also the minimum.'),
    size_bytes: z
      .number()
      .int()
      .nullable()
      .describe('The size of the image and the checkpoint in bytes; null until the template is built.'),
    env: z.record(z.string(), z.string()).describe('Environment variables of its runtimes.'),
    user: z.string().describe('The user that commands run as by default.'),
    workdir: z.string().describe('The directory that commands start in by default.'),
    facts: z
      .record(z.string(), z.string())
      .describe('Facts about the content: versions of programs, and the origin of the Python interpreter.'),
    start_cmd: z
      .string()
      .nullable()
      .describe('The command line that is running in each new runtime; null if there is none.'),
    ready_cmd: z
      .string()
      .nullable()
      .describe('The command line that exits with 0 when `start_cmd` is ready; null if there is none.'),
    on_restore: z
      .string()
      .nullable()
      .describe('The command line that runs in each new runtime before the create answers; null if there is none.'),
    starts: z
      .enum(['restored', 'boot'])
      .nullable()
      .describe(
        'The time at which `start_cmd` starts; null without `start_cmd`. `restored`: it is running in the checkpoint; runtimes of the class `container` or of another size run it at boot. `boot`: each runtime runs it at boot.',
      ),
    ignored: z.array(Ignored).describe('The Dockerfile instructions that had no effect in its build.'),
    ports: z.array(z.string()).describe('The ports of EXPOSE, such as `8080/tcp`. Other ports can be reached too.'),
    labels: z.record(z.string(), z.string()).describe('The labels of the image.'),
    build_id: idSchema('build').nullable().describe('The newest build of the template; null if there is none.'),
    has_checkpoint: z
      .boolean()
      .describe(
        'True if runtimes are restored from a checkpoint; false if they boot. Always false without `start_cmd`.',
      ),
    created_at: Timestamp.describe('When the template was created (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When the template last changed (RFC 3339 UTC with milliseconds).'),
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
