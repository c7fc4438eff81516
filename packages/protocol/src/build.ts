import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Timestamp } from './page.ts'

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
