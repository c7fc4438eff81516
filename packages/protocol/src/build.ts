import { z } from 'zod'
import { idSchema } from './ids.ts'
import { nameBesideId } from './name.ts'
import { Timestamp } from './page.ts'
import { WantedPolicy } from './policy.ts'
import { mibSchema } from './quantity.ts'
import { Env } from './runtime.ts'
import { byteLength, maxArgumentBytes, Text } from './text.ts'

/** The statuses of a build. The last three are final. */
export const buildStatuses = [
  'queued',
  'pulling',
  'building',
  'exporting',
  'snapshotting',
  'ready',
  'failed',
  'cancelled',
] as const

/** A status of a build. */
export type BuildStatus = (typeof buildStatuses)[number]

/** The final statuses of a build. */
export const finalBuildStatuses = ['ready', 'failed', 'cancelled'] as const satisfies readonly BuildStatus[]

/** The reasons why a build fails. */
export const buildFailureCodes = [
  'image_not_found',
  'image_pull_failed',
  'image_unsupported',
  'dockerfile_invalid',
  'unsupported_setting',
  'step_failed',
  'disk_too_small',
  'start_cmd_failed',
  'ready_cmd_failed',
  'ready_timeout',
  'build_timeout',
  'quota_exceeded',
  'internal',
] as const

/** A reason why a build fails. */
export type BuildFailureCode = (typeof buildFailureCodes)[number]

/** A template's tag, in the form of container images. */
export const Tag = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/, 'must be 1 to 128 characters of letters, digits and _.-')

const commandText = z
  .string()
  .min(1)
  .max(64 * 1024)
  .refine((text) => !text.includes('\0'), 'must not contain NUL')
  .refine(
    (text) => byteLength(text) <= maxArgumentBytes,
    `must be at most ${maxArgumentBytes} bytes: write it to a file of the image`,
  )
const pathText = z
  .string()
  .min(1)
  .max(4096)
  .refine((text) => !text.includes('\0'), 'must not contain NUL')
const ownerText = Text.min(1).max(256)
/** A mode in the form of chmod(1): octal digits, or clauses such as `u+rwX,g=r`. */
export const modePattern =
  /^(?:[0-7]{3,4}|(?:[ugoa]*(?:[-+=](?:[ugo]|[rwxXst]*))+)(?:,[ugoa]*(?:[-+=](?:[ugo]|[rwxXst]*))+)*)$/
const modeText = z.string().max(256).regex(modePattern, 'must be a mode such as 755 or u+rwX,g=r')

/** One step on top of an image or a template: the effect of one line of a Dockerfile. */
export const BuildStep = z
  .union([
    z.strictObject({
      run: commandText.describe('A command line for `/bin/sh -c`, like RUN in a Dockerfile. At most 131,071 bytes.'),
    }),
    z.strictObject({
      copy: z
        .strictObject({
          source: z
            .union([pathText, z.array(pathText).min(1).max(1000)])
            .describe('One or more paths in the build context. Patterns with `*` are allowed.'),
          destination: pathText.describe('The path in the image. With several sources it must end with `/`.'),
          chown: ownerText.optional().describe('The owner: a user, or `user:group`, by name or number. Default root.'),
          chmod: modeText
            .optional()
            .describe('The mode, such as `755` or `u+rwX,g=r`. Default: the mode of the source.'),
        })
        .describe('Copies files of the build context into the image, like COPY in a Dockerfile.'),
    }),
    z.strictObject({ env: Env.describe('Environment variables for later steps and for runtimes.') }),
    z.strictObject({
      workdir: pathText.describe(
        'The working directory of later steps and of runtimes. It is created if it is missing.',
      ),
    }),
    z.strictObject({
      user: ownerText.describe(
        'The user of later steps and of runtimes: a user name or number, optionally with `:group`.',
      ),
    }),
  ])
  .meta({ id: 'BuildStep' })
export type BuildStep = z.output<typeof BuildStep>

/**
 * The most sources and variables of all steps of a build together. A JSON body can hold little
 * more.
 */
const maxStepNames = 30_000

const BuildSteps = z
  .array(BuildStep)
  .max(1000)
  .refine(
    (steps) => steps.reduce((sum, step) => sum + namesOf(step), 0) <= maxStepNames,
    `must have at most ${maxStepNames} sources and variables together: copy a directory or a pattern instead`,
  )

/** Returns the number of sources or variables in a step. */
function namesOf(step: BuildStep): number {
  if ('env' in step) return Object.keys(step.env).length
  return 'copy' in step && Array.isArray(step.copy.source) ? step.copy.source.length : 0
}

const names = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,255}$/, 'must be a name: letters, digits and _.-')
const noNul = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((text) => !text.includes('\0'), 'must not contain NUL')

/**
 * The most build arguments. A Dockerfile can declare no more of them (`wordLimits` of the builder).
 */
export const maxBuildArgs = 8000

const BuildArgs = z
  .record(names, noNul(64 * 1024))
  .refine((args) => Object.keys(args).length <= maxBuildArgs, `must have at most ${maxBuildArgs} arguments`)

/**
 * The names that the API uses below its path of templates. A template with such a name would have
 * no address.
 */
const takenNames = ['build', 'check', 'context']

const sources = ['from_image', 'from_template', 'from_snapshot', 'dockerfile'] as const

/**
 * The most characters of all build secrets together. Every line of a build's log is searched for
 * them.
 */
const maxSecretLength = 512 * 1024

/** The body of a build. */
export const CreateBuild = z
  .strictObject({
    name: nameBesideId('template')
      .refine((name) => !takenNames.includes(name), 'is a word of the API')
      .describe("The template's name."),
    tag: Tag.default('latest').describe("The template's tag. Default `latest`."),
    from_image: Text.min(1)
      .max(512)
      .optional()
      .describe('The container image to start from, such as `python:3.12-slim`.'),
    from_template: Text.min(1).max(200).optional().describe('The template to start from, by name, `name:tag` or id.'),
    from_snapshot: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe('The filesystem snapshot to start from, by name or id.'),
    dockerfile: noNul(1024 * 1024)
      .min(1)
      .optional()
      .describe('The text of a Dockerfile, at most 1 MiB.'),
    steps: BuildSteps.optional().describe(
      'The build steps, in order. Needs `from_image`, `from_template` or `from_snapshot`. At most 30,000 sources and variables in total.',
    ),
    context_id: Text.max(64)
      .optional()
      .describe(
        'The id of an uploaded build context: the files that COPY and ADD read. Upload one with `POST /v1/agents/template/context`. Default: none.',
      ),
    build_args: BuildArgs.default({}).describe(
      'Values for the ARG instructions of the Dockerfile, by name. Default: none.',
    ),
    target: Text.min(1)
      .max(128)
      .optional()
      .describe('The Dockerfile stage to build, by name or number. Default: the last stage.'),
    build_secrets: z
      .record(names, noNul(maxSecretLength))
      .default({})
      .describe(
        'Values for `RUN --mount=type=secret,id=NAME`, by name. They are held in memory only and are not part of the image. Default: none.',
      ),
    registry_auth: z
      .strictObject({
        username: noNul(1024).describe('The user name at the registry.'),
        password: noNul(64 * 1024).describe('The password or access token.'),
        registry: z
          .string()
          .max(255)
          .optional()
          .describe('The host and port of the registry. Default: the registry of `from_image` or of the first FROM.'),
      })
      .optional()
      .describe('The login for a private registry. It is held in memory only. Default: no login.'),
    start_cmd: commandText
      .optional()
      .describe(
        'A command line that the build starts in the finished image. It is running in each new runtime. Default: none.',
      ),
    ready_cmd: commandText
      .optional()
      .describe(
        'A command line that the build repeats until it exits with 0. The build then takes the checkpoint. Default: none.',
      ),
    on_restore: commandText
      .optional()
      .describe('A command line that runs in each new runtime before the create answers. Default: none.'),
    ready_timeout_secs: z
      .number()
      .int()
      .min(1)
      .max(3600)
      .default(600)
      .describe('The time limit in seconds for `ready_cmd` to exit with 0. Default 600.'),
    timeout_secs: z
      .number()
      .int()
      .min(10)
      .max(24 * 3600)
      .default(3600)
      .describe('The time limit of the whole build in seconds. Default 3600.'),
    cpu: z
      .number()
      .min(0.1)
      .max(256)
      .multipleOf(0.001)
      .optional()
      .describe('The default vCPUs of its runtimes. Default 1.'),
    memory: mibSchema({ minMiB: 64, maxMiB: 4 * 1024 * 1024 })
      .optional()
      .describe('The default memory of its runtimes. Default 1 GiB.'),
    disk: mibSchema({ minMiB: 64, maxMiB: 64 * 1024 * 1024 })
      .optional()
      .describe(
        'The default disk of its runtimes. The image and everything that the build installs must fit. Default 4 GiB.',
      ),
    env: Env.default({}).describe(
      'Environment variables of its runtimes, in addition to those of the image. Default: none.',
    ),
    user: ownerText.optional().describe('The default user of commands. Default: the user of the image.'),
    workdir: z
      .string()
      .startsWith('/')
      .max(4096)
      .optional()
      .describe('The default working directory of commands. Default: the working directory of the image.'),
    network_policy: WantedPolicy.optional().describe(
      'The network that build steps may reach. Default: the public Internet. Null: nothing.',
    ),
    no_cache: z
      .boolean()
      .default(false)
      .describe('True: run every step, even if its result is in the cache. Default false.'),
  })
  .superRefine((body, context) => {
    const given = sources.filter((source) => body[source] !== undefined)
    if (given.length !== 1)
      context.addIssue({ code: 'custom', path: [], message: `must have exactly one of ${sources.join(', ')}` })
    if (body.dockerfile !== undefined && body.steps !== undefined)
      context.addIssue({ code: 'custom', path: ['steps'], message: 'is not for a dockerfile' })
    if (body.dockerfile === undefined && body.target !== undefined)
      context.addIssue({ code: 'custom', path: ['target'], message: 'is for a dockerfile' })
    if (body.ready_cmd !== undefined && body.start_cmd === undefined)
      context.addIssue({ code: 'custom', path: ['ready_cmd'], message: 'needs a start_cmd' })
    if (Object.values(body.build_secrets).reduce((sum, { length }) => sum + length, 0) > maxSecretLength)
      context.addIssue({
        code: 'custom',
        path: ['build_secrets'],
        message: 'must be 512 KiB at the most, all together',
      })
  })
  .meta({
    id: 'CreateBuild',
    examples: [{ name: 'web', from_image: 'python:3.12-slim', steps: [{ run: 'pip install flask' }] }],
  })
export type CreateBuildInput = z.input<typeof CreateBuild>
export type CreateBuild = z.output<typeof CreateBuild>

/** The states of one step. */
export const stepStates = ['waiting', 'running', 'done', 'cached', 'failed', 'skipped'] as const

/** One step of a build: an instruction, or an action around them (pull, export, start). */
export const BuildStepState = z.object({
  step: z.number().int().describe('The number of the step in run order, from 1.'),
  text: z.string().describe('The instruction of the step, such as `RUN npm ci`.'),
  stage: z.string().nullable().describe('The Dockerfile stage of the step; null without a Dockerfile.'),
  line: z.number().int().nullable().describe('The line of the Dockerfile, from 1; null without a Dockerfile.'),
  state: z
    .enum(stepStates)
    .describe(
      'The state of the step. `cached`: the result of an earlier build was used. `skipped`: no other step needed it.',
    ),
  duration_ms: z.number().int().nullable().describe('The duration of the step in milliseconds; null until it ends.'),
})
export type BuildStepState = z.infer<typeof BuildStepState>

/** An instruction of a build that was left out, with the reason. */
export const Ignored = z.object({
  instruction: z.string().describe('The instruction of the Dockerfile, such as `HEALTHCHECK`.'),
  line: z
    .number()
    .int()
    .nullable()
    .describe('The line of the Dockerfile, from 1; null if the instruction is not from a Dockerfile.'),
  reason: z.string().describe('The reason why it has no effect.'),
})
export type Ignored = z.infer<typeof Ignored>

/** A build. */
export const Build = z
  .object({
    build_id: idSchema('build').describe('The id of the build.'),
    template_id: idSchema('template').describe('The template that the build creates or replaces.'),
    name: z.string().describe('The name of the template.'),
    tag: z.string().describe('The tag of the template.'),
    status: z.enum(buildStatuses).describe('The current phase. `ready`, `failed` and `cancelled` are final.'),
    reason: z
      .object({
        code: z.enum(buildFailureCodes).describe('The kind of failure, for programs.'),
        step: z.number().int().nullable().describe('The failed step, from 1; null if no step failed.'),
        message: z.string().describe('A sentence for people that says what happened.'),
        hint: z.string().nullable().describe('The next step to take; null if none is known.'),
        details: z
          .record(z.string(), z.unknown())
          .describe('Details for programs, such as the `exit_code` and the `output` of a step.'),
      })
      .nullable()
      .describe('Why the build failed; null if it has not failed.'),
    warnings: z.array(z.string()).describe('Warnings about the Dockerfile that do not stop the build.'),
    ignored: z.array(Ignored).describe('Instructions that have no effect.'),
    steps: z.array(BuildStepState).describe('The steps in run order.'),
    image_digest: z.string().nullable().describe('The digest of the finished image; null until it is exported.'),
    size_bytes: z
      .number()
      .int()
      .nullable()
      .describe('The size of the finished image and checkpoint in bytes; null until the build is ready.'),
    created_at: Timestamp.describe('When the build was requested (RFC 3339 UTC with milliseconds).'),
    started_at: Timestamp.nullable().describe(
      'When the build left the queue (RFC 3339 UTC with milliseconds); null before that.',
    ),
    ended_at: Timestamp.nullable().describe('When the build ended (RFC 3339 UTC with milliseconds); null before that.'),
    duration_ms: z
      .number()
      .int()
      .nullable()
      .describe('The time from start to end in milliseconds; null until the build ends.'),
  })
  .meta({ id: 'Build' })
export type Build = z.infer<typeof Build>

/** The answer to a build's start. */
export const BuildStarted = z
  .object({
    build_id: idSchema('build').describe('The id of the build.'),
    template_id: idSchema('template').describe('The template that the build creates or replaces.'),
    name: z.string().describe('The name of the template.'),
    tag: z.string().describe('The tag of the template.'),
    status: z.enum(buildStatuses).describe('The current phase. `ready`, `failed` and `cancelled` are final.'),
  })
  .meta({ id: 'BuildStarted' })
export type BuildStarted = z.infer<typeof BuildStarted>

/** The request of a build, as far as the service keeps it. */
export const BuildRequest = z
  .object({
    request: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe(
        'The body of the request, as in `POST /v1/agents/template/build`, without secret values. Null if it is no longer kept, or has more than 256 KiB.',
      ),
    build_secrets: z
      .array(z.string())
      .describe('The names of the build secrets. To build again, give their values again: they are not kept.'),
    registry_user: z
      .string()
      .nullable()
      .describe('The user name of `registry_auth`; null without one. The password is not kept.'),
  })
  .meta({ id: 'BuildRequest' })
export type BuildRequest = z.infer<typeof BuildRequest>

/** The body of a pull: the options for building an agent template. */
export const PullTemplate = z
  .strictObject({
    no_cache: z
      .boolean()
      .default(false)
      .describe('True: run every step, even if its result is in the cache. Default false.'),
  })
  .meta({ id: 'PullTemplate' })
export type PullTemplateInput = z.input<typeof PullTemplate>

/** A line of a build's log. */
export const BuildLogLine = z.object({
  type: z.literal('log').describe('A line of the build log.'),
  cursor: z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.'),
  at: Timestamp.describe('When the line was written (RFC 3339 UTC with milliseconds).'),
  level: z.enum(['debug', 'info', 'warn', 'error']).describe('The severity. Output of steps is `info`.'),
  step: z
    .number()
    .int()
    .nullable()
    .describe('The step that wrote the line, from 1; null if the build itself wrote it.'),
  message: z.string().describe('The text of the line, without its line break.'),
})
export type BuildLogLine = z.infer<typeof BuildLogLine>

/** An item of a build's log. `end` follows when the build has ended and all lines were read. */
export const BuildLogItem = z
  .discriminatedUnion('type', [
    BuildLogLine,
    z.object({
      type: z.literal('gap').describe('Lines were lost before the cursor.'),
      cursor: z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.'),
      lost: z.number().int().describe('The number of lost lines.'),
    }),
    z.object({
      type: z.literal('end').describe('The last item: the build has ended, and every line was sent.'),
      cursor: z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.'),
      status: z.enum(buildStatuses).describe('The final status of the build.'),
    }),
  ])
  .meta({ id: 'BuildLogItem' })
export type BuildLogItem = z.infer<typeof BuildLogItem>

/** The body of a check. */
export const CheckDockerfile = z
  .strictObject({
    dockerfile: noNul(1024 * 1024)
      .min(1)
      .describe('The text of the Dockerfile, at most 1 MiB.'),
    build_args: BuildArgs.default({}).describe('Values for the ARG instructions, by name. Default: none.'),
    target: Text.min(1).max(128).optional().describe('The stage to check, by name or number. Default: the last stage.'),
  })
  .meta({ id: 'CheckDockerfile', examples: [{ dockerfile: 'FROM python:3.12-slim' }] })
export type CheckDockerfileInput = z.input<typeof CheckDockerfile>

/** The effect of one instruction in a build. */
export const CheckedLine = z.object({
  line: z.number().int().describe('The first line of the instruction, from 1.'),
  end_line: z.number().int().describe('The last line of the instruction, from 1.'),
  instruction: z.string().describe('The instruction, such as `RUN`.'),
  text: z.string().describe('The instruction on one line, shortened.'),
  verdict: z
    .enum(['supported', 'ignored', 'refused'])
    .describe(
      'The effect in a build. `supported`: the instruction works. `ignored`: it has no effect. `refused`: the build does not start.',
    ),
  reason: z.string().nullable().describe('Why the instruction is ignored or refused; null if it is supported.'),
  fix: z.string().nullable().describe('The change to make instead; null if none is known.'),
})
export type CheckedLine = z.infer<typeof CheckedLine>

/** The effect of a Dockerfile in a build. */
export const DockerfileCheck = z
  .object({
    ok: z.boolean().describe('True if a build can start: no instruction is refused.'),
    lines: z.array(CheckedLine).describe('The instructions, in the order of the file.'),
    warnings: z.array(z.string()).describe('Warnings that do not stop a build.'),
    images: z.array(z.string()).describe('The container images that the Dockerfile starts from.'),
    templates: z.array(z.string()).describe('The templates that the Dockerfile starts from.'),
  })
  .meta({ id: 'DockerfileCheck' })
export type DockerfileCheck = z.infer<typeof DockerfileCheck>

/** A stored build context. */
export const BuildContext = z
  .object({
    context_id: idSchema('context').describe('The id of the context, for the field `context_id` of a build.'),
    sha256: z.string().describe('The SHA-256 digest of the uploaded archive, in hexadecimal.'),
    size_bytes: z.number().int().describe('The size of the uploaded archive in bytes.'),
    entries: z.number().int().describe('The number of files, directories and links in the archive.'),
    expires_at: Timestamp.describe(
      'When the context is deleted (RFC 3339 UTC with milliseconds). Each build that uses it extends this time.',
    ),
  })
  .meta({ id: 'BuildContext' })
export type BuildContext = z.infer<typeof BuildContext>
