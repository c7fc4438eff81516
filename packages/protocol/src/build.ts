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
      run: commandText.describe('A command line for `/bin/sh -c`, as RUN of a Dockerfile. At most 131,071 bytes.'),
    }),
    z.strictObject({
      copy: z
        .strictObject({
          source: z
            .union([pathText, z.array(pathText).min(1).max(1000)])
            .describe('One or more paths in the build context. Patterns with `*` are allowed.'),
          destination: pathText.describe('The path in the image. With several sources it must end with `/`.'),
          chown: ownerText.optional().describe('The owner: a user, or `user:group`, by name or number. Default root.'),
          chmod: modeText.optional().describe('The mode, such as `755` or `u+rwX,g=r`. Default: that of the source.'),
        })
        .describe('Copies files of the build context into the image, as COPY of a Dockerfile.'),
    }),
    z.strictObject({ env: Env.describe('Environment variables for later steps and for runtimes.') }),
    z.strictObject({
      workdir: pathText.describe('The working directory of later steps and of runtimes. It is made if missing.'),
    }),
    z.strictObject({
      user: ownerText.describe('The user of later steps and of runtimes: a name or a number, with `:group` if wanted.'),
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
    from_image: Text.min(1).max(512).optional().describe('A container image: `python:3.12-slim`.'),
    from_template: Text.min(1).max(200).optional().describe('A template by name, `name:tag` or id.'),
    from_snapshot: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe('A filesystem snapshot by name or id: its files, and what its runtimes begin with.'),
    dockerfile: noNul(1024 * 1024)
      .min(1)
      .optional()
      .describe("A Dockerfile's text."),
    steps: BuildSteps.optional().describe(
      'With from_image, from_template or from_snapshot. At most 30,000 sources and variables together.',
    ),
    context_id: Text.max(64).optional().describe('The files that COPY and ADD read: POST .../template/context.'),
    build_args: BuildArgs.default({}).describe('Values for ARG instructions of the Dockerfile, by name.'),
    target: Text.min(1).max(128).optional().describe('The stage to stop at, by name or number.'),
    build_secrets: z
      .record(names, noNul(maxSecretLength))
      .default({})
      .describe('For `RUN --mount=type=secret,id=NAME`. Kept in memory only, and in nothing that is built.'),
    registry_auth: z
      .strictObject({
        username: noNul(1024).describe('The user name at the registry.'),
        password: noNul(64 * 1024).describe('The password or the access token.'),
        registry: z
          .string()
          .max(255)
          .optional()
          .describe('Host and port; default: that of from_image or of the first FROM.'),
      })
      .optional()
      .describe('The login for a private registry. It is kept in memory only.'),
    start_cmd: commandText.optional().describe('Started in the finished image; it is running in each runtime.'),
    ready_cmd: commandText.optional().describe('Tried again until it exits 0; then the checkpoint is taken.'),
    on_restore: commandText.optional().describe('Run in each new runtime before it is handed over.'),
    ready_timeout_secs: z
      .number()
      .int()
      .min(1)
      .max(3600)
      .default(600)
      .describe('The most seconds until `ready_cmd` exits 0. Default 600.'),
    timeout_secs: z
      .number()
      .int()
      .min(10)
      .max(24 * 3600)
      .default(3600)
      .describe('The most that the whole build may take.'),
    cpu: z.number().min(0.1).max(256).multipleOf(0.001).optional().describe('vCPUs of its runtimes; default 1.'),
    memory: mibSchema({ minMiB: 64, maxMiB: 4 * 1024 * 1024 })
      .optional()
      .describe('Default 1 GiB.'),
    disk: mibSchema({ minMiB: 64, maxMiB: 64 * 1024 * 1024 })
      .optional()
      .describe('The image and what is installed have to fit. Default 4 GiB.'),
    env: Env.default({}).describe("Set in its runtimes, over the image's."),
    user: ownerText.optional().describe("Default the image's."),
    workdir: z.string().startsWith('/').max(4096).optional().describe("Default the image's."),
    network_policy: WantedPolicy.optional().describe(
      "What the build's own steps may reach; default the public Internet, null nothing.",
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
  step: z.number().int().describe('From 1, in the order in which they run.'),
  text: z.string().describe('What is done: `RUN npm ci`.'),
  stage: z.string().nullable().describe('The stage of a Dockerfile that it belongs to.'),
  line: z.number().int().nullable().describe('The line of the Dockerfile, from 1.'),
  state: z
    .enum(stepStates)
    .describe('`cached`: the result of an earlier build was used. `skipped`: nothing needed it.'),
  duration_ms: z.number().int().nullable().describe('How long the step ran, in milliseconds; null until it has ended.'),
})
export type BuildStepState = z.infer<typeof BuildStepState>

/** An instruction of a build that was left out, with the reason. */
export const Ignored = z.object({
  instruction: z.string().describe('The instruction of the Dockerfile, such as `HEALTHCHECK`.'),
  line: z.number().int().nullable().describe('The line of the Dockerfile, from 1; null where there is none.'),
  reason: z.string().describe('Why it has no effect.'),
})
export type Ignored = z.infer<typeof Ignored>

/** A build. */
export const Build = z
  .object({
    build_id: idSchema('build').describe('The id of the build.'),
    template_id: idSchema('template').describe('The template that the build makes or replaces.'),
    name: z.string().describe("The template's name."),
    tag: z.string().describe("The template's tag."),
    status: z.enum(buildStatuses).describe('The current phase. `ready`, `failed` and `cancelled` are final.'),
    reason: z
      .object({
        code: z.enum(buildFailureCodes).describe('The kind of failure, for programs.'),
        step: z.number().int().nullable().describe('The failed step, from 1; null where no step failed.'),
        message: z.string().describe('What happened, in a sentence.'),
        hint: z.string().nullable().describe('What to do next; null where nothing is known.'),
        details: z
          .record(z.string(), z.unknown())
          .describe('Facts for programs, such as the `exit_code` and the `output` of a step.'),
      })
      .nullable()
      .describe('Why it failed.'),
    warnings: z.array(z.string()).describe('Remarks on the Dockerfile that do not stop the build.'),
    ignored: z.array(Ignored).describe('Instructions that have no effect.'),
    steps: z.array(BuildStepState).describe('The steps in the order in which they run.'),
    image_digest: z.string().nullable().describe('The digest of the finished image; null until it is exported.'),
    size_bytes: z
      .number()
      .int()
      .nullable()
      .describe('The size of the finished image and checkpoint in bytes; null until it is ready.'),
    created_at: Timestamp.describe('When the build was requested (RFC 3339 UTC with milliseconds).'),
    started_at: Timestamp.nullable().describe('When it left the queue (RFC 3339 UTC with milliseconds); null before.'),
    ended_at: Timestamp.nullable().describe('When it ended (RFC 3339 UTC with milliseconds); null before.'),
    duration_ms: z
      .number()
      .int()
      .nullable()
      .describe('Milliseconds from its start to its end; null until it has ended.'),
  })
  .meta({ id: 'Build' })
export type Build = z.infer<typeof Build>

/** The answer to a build's start. */
export const BuildStarted = z
  .object({
    build_id: idSchema('build').describe('The id of the build.'),
    template_id: idSchema('template').describe('The template that the build makes or replaces.'),
    name: z.string().describe("The template's name."),
    tag: z.string().describe("The template's tag."),
    status: z.enum(buildStatuses).describe('The current phase. `ready`, `failed` and `cancelled` are final.'),
  })
  .meta({ id: 'BuildStarted' })
export type BuildStarted = z.infer<typeof BuildStarted>

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
  type: z.literal('log').describe('A line of the log.'),
  cursor: z.number().int().describe('Resume after this item with ?cursor=.'),
  at: Timestamp.describe('When the line was written (RFC 3339 UTC with milliseconds).'),
  level: z.enum(['debug', 'info', 'warn', 'error']).describe('The severity. Output of steps is `info`.'),
  step: z.number().int().nullable().describe('The step that wrote it, from 1; null: the build itself.'),
  message: z.string().describe('The text, without its line break.'),
})
export type BuildLogLine = z.infer<typeof BuildLogLine>

/** An item of a build's log. `end` follows when the build has ended and all lines were read. */
export const BuildLogItem = z
  .discriminatedUnion('type', [
    BuildLogLine,
    z.object({
      type: z.literal('gap').describe('Lines were lost before the cursor.'),
      cursor: z.number().int().describe('Resume after this item with ?cursor=.'),
      lost: z.number().int().describe('Lines that were dropped.'),
    }),
    z.object({
      type: z.literal('end').describe('The build has ended, and every line was given.'),
      cursor: z.number().int().describe('Resume after this item with ?cursor=.'),
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
    build_args: BuildArgs.default({}).describe('Values for ARG instructions, by name.'),
    target: Text.min(1).max(128).optional().describe('The stage to stop at, by name or number. Default: the last one.'),
  })
  .meta({ id: 'CheckDockerfile', examples: [{ dockerfile: 'FROM python:3.12-slim' }] })
export type CheckDockerfileInput = z.input<typeof CheckDockerfile>

/** The effect of one instruction in a build. */
export const CheckedLine = z.object({
  line: z.number().int().describe('From 1.'),
  end_line: z.number().int().describe('The last line of the instruction, from 1.'),
  instruction: z.string().describe('The instruction, such as `RUN`.'),
  text: z.string().describe('The instruction on one line, shortened.'),
  verdict: z
    .enum(['supported', 'ignored', 'refused'])
    .describe('`supported`: it has its effect. `ignored`: it has none. `refused`: the build would not begin.'),
  reason: z.string().nullable().describe('Why it is ignored or refused; else null.'),
  fix: z.string().nullable().describe('What to do instead.'),
})
export type CheckedLine = z.infer<typeof CheckedLine>

/** The effect of a Dockerfile in a build. */
export const DockerfileCheck = z
  .object({
    ok: z.boolean().describe('True when a build would begin: nothing is refused.'),
    lines: z.array(CheckedLine).describe('The instructions in order.'),
    warnings: z.array(z.string()).describe('Remarks that do not stop a build.'),
    images: z.array(z.string()).describe('Container images that it is made from.'),
    templates: z.array(z.string()).describe('Templates that it is made from.'),
  })
  .meta({ id: 'DockerfileCheck' })
export type DockerfileCheck = z.infer<typeof DockerfileCheck>

/** A stored build context. */
export const BuildContext = z
  .object({
    context_id: idSchema('context').describe('The id of the context, for `context_id` of a build.'),
    sha256: z.string().describe('Of the bytes that were sent.'),
    size_bytes: z.number().int().describe('The size of the archive in bytes, as it was sent.'),
    entries: z.number().int().describe('How many files, directories and links it has.'),
    expires_at: Timestamp.describe('When it is forgotten, unless a build uses it before.'),
  })
  .meta({ id: 'BuildContext' })
export type BuildContext = z.infer<typeof BuildContext>
