import { z } from 'zod'
import { idSchema } from './ids.ts'
import { ifSound } from './if-sound.ts'
import { Name } from './name.ts'
import { pageQuery, Timestamp } from './page.ts'
import { PolicyRef, WantedPolicy } from './policy.ts'
import { mibSchema } from './quantity.ts'
import { byteLength, maxArgumentBytes, Text, tooLongText } from './text.ts'

/** Every state of a runtime. */
export const runtimeStates = [
  'starting',
  'running',
  'pausing',
  'paused',
  'resuming',
  'terminating',
  'terminated',
  'failed',
] as const

/** A state of a runtime. */
export type RuntimeState = (typeof runtimeStates)[number]

/** The class of isolation: `gvisor` for untrusted code, `container` for code you trust. */
export const Isolation = z.enum(['gvisor', 'container'])
export type Isolation = z.infer<typeof Isolation>

/** The action when `timeout_secs` has passed. */
export const OnTimeout = z.enum(['pause', 'terminate'])
export type OnTimeout = z.infer<typeof OnTimeout>

const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/

/**
 * Environment variables: at most 256, together 256 KiB. Each has at most 131,071 bytes with its
 * name and `=`, and no NUL.
 */
export const Env = z
  .record(
    z.string().regex(variableName, 'must be a variable name: letters, digits and _, not beginning with a digit'),
    Text,
  )
  .superRefine((env, context) => {
    for (const [name, value] of Object.entries(env)) {
      const bytes = byteLength(name) + 1 + byteLength(value)
      if (bytes > maxArgumentBytes) context.addIssue({ code: 'custom', path: [name], message: tooLongText(bytes) })
    }
  })
  .refine((env) => Object.keys(env).length <= 256, 'must have at most 256 variables')
  .refine((env) => sizeOf(env) <= 256 * 1024, 'must be at most 256 KiB together')

const metadataKey = /^[A-Za-z0-9_./-]{1,128}$/

/** Labels of the client's own: at most 64, keys of 128 and values of 1,024 characters. */
export const Metadata = z
  .record(z.string().regex(metadataKey, 'must be 1 to 128 characters of letters, digits and _./-'), Text.max(1024))
  .refine((metadata) => Object.keys(metadata).length <= 64, 'must have at most 64 keys')

const timeoutSecs = z
  .number()
  .int()
  .min(1)
  .max(30 * 24 * 3600)

/** The default time in seconds that a pausable runtime runs. */
export const defaultTimeoutSecs = 3600

const deadline = {
  timeout_secs: timeoutSecs
    .nullable()
    .optional()
    .describe(
      'It runs for so long, counted from its creation and from each resume. Null: it has no deadline. Default 3600 where the runtime can be paused, else null.',
    ),
  on_timeout: OnTimeout.optional().describe('Default `pause` where the runtime can be paused, else `terminate`.'),
  idle_timeout_secs: timeoutSecs
    .nullable()
    .optional()
    .describe('It is paused when nobody has used it for so long. Default null: never.'),
  auto_resume: z.boolean().optional().describe('Whether a request to it resumes it while it is paused. Default true.'),
}

/** The body of a create. */
export const CreateRuntime = z
  .strictObject({
    template: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('A template by name, `name:tag` or id; default `base-small`. Not with `snapshot`.'),
    snapshot: Text.min(1).max(63).optional().describe('A snapshot by name or id, instead of a template.'),
    name: Name.optional().describe('Unique among the runtimes that have not ended.'),
    cloud: z.string().max(64).optional().describe('Where to run; the server refuses what it does not serve.'),
    region: z.string().max(64).optional(),
    isolation: Isolation.optional().describe('Default: what the server was started with, else `gvisor`.'),
    cpu: z.number().min(0.1).max(256).multipleOf(0.001).optional().describe("vCPUs; default the template's."),
    memory: mibSchema({ minMiB: 64, maxMiB: 4 * 1024 * 1024 }).optional(),
    disk: mibSchema({ minMiB: 64, maxMiB: 64 * 1024 * 1024 })
      .optional()
      .describe("May not be smaller than the template's."),
    env: Env.default({}),
    metadata: Metadata.default({}),
    ...deadline,
    network_policy: WantedPolicy.optional().describe(
      'Absent or null: nothing can be reached. An agent template with the secret of its vendor reaches that vendor where it is absent.',
    ),
    secrets: z
      .array(Name)
      .max(32)
      .refine((names) => new Set(names).size === names.length, 'must name each secret once')
      .default([])
      .describe('Secrets by name. Their placeholders are in the environment.'),
  })
  .superRefine(({ template, snapshot }, context) => {
    if (template !== undefined && snapshot !== undefined)
      context.addIssue({ code: 'custom', path: ['snapshot'], message: 'excludes template' })
  }, ifSound())
  .meta({ id: 'CreateRuntime' })

/** A create as a client writes it. */
export type CreateRuntimeInput = z.input<typeof CreateRuntime>
export type CreateRuntime = z.output<typeof CreateRuntime>

/** The body of a change. */
export const UpdateRuntime = z
  .strictObject({
    metadata: Metadata.optional().describe('Replaces all metadata.'),
    timeout_secs: timeoutSecs
      .nullable()
      .optional()
      .describe('Counted from now, of a paused one from its resume; null: no deadline.'),
    on_timeout: OnTimeout.optional(),
    idle_timeout_secs: timeoutSecs.nullable().optional(),
    auto_resume: z.boolean().optional(),
  })
  .meta({ id: 'UpdateRuntime', examples: [{ timeout_secs: 7200 }] })
export type UpdateRuntimeInput = z.input<typeof UpdateRuntime>
export type UpdateRuntime = z.output<typeof UpdateRuntime>

/** The body of a fork. What is absent is as the source has it. */
export const ForkRuntime = z
  .strictObject({
    count: z.number().int().min(1).max(100).default(1).describe('How many children.'),
    metadata: Metadata.optional(),
    timeout_secs: timeoutSecs.nullable().optional().describe('Counted from the creation of each child.'),
    on_timeout: OnTimeout.optional(),
    idle_timeout_secs: timeoutSecs.nullable().optional(),
    auto_resume: z.boolean().optional(),
  })
  .meta({ id: 'ForkRuntime' })
export type ForkRuntimeInput = z.input<typeof ForkRuntime>
export type ForkRuntime = z.output<typeof ForkRuntime>

const listFields = {
  ...pageQuery,
  state: z.enum(runtimeStates).optional(),
  template: Text.max(200).optional(),
  name: Text.max(63).optional(),
  isolation: Isolation.optional(),
}
const metadataFilter = 'metadata.'

/** The query of the list of runtimes. Fields named `metadata.KEY` filter by metadata; they repeat and mean AND. */
export const ListRuntimesQuery = z.looseObject(listFields).superRefine((query, context) => {
  for (const field of Object.keys(query)) {
    if (Object.hasOwn(listFields, field)) continue
    const isFilter = field.startsWith(metadataFilter)
    if (isFilter && metadataKey.test(field.slice(metadataFilter.length))) continue
    const message = isFilter ? 'is not a valid metadata key' : 'is not a known field'
    context.addIssue({ code: 'custom', path: [field], message })
  }
}, ifSound())
export type ListRuntimesQuery = z.output<typeof ListRuntimesQuery>

/** The labels that a list of runtimes is filtered by, as pairs of key and value. */
export function metadataFilters(query: ListRuntimesQuery): readonly (readonly [key: string, value: string])[] {
  return Object.entries(query)
    .filter(([field]) => field.startsWith(metadataFilter))
    .flatMap(([field, values]) =>
      [values].flat().map((value) => [field.slice(metadataFilter.length), String(value)] as const),
    )
}

/** The reason for a runtime's state. */
export const StateReason = z.object({ code: z.string(), message: z.string() })

/** A runtime. */
export const Runtime = z
  .object({
    runtime_id: idSchema('runtime'),
    name: z.string().nullable(),
    state: z.enum(runtimeStates),
    state_reason: StateReason.nullable(),
    template: z.object({ template_id: idSchema('template'), name: z.string() }),
    snapshot_id: idSchema('snapshot').nullable().describe('The snapshot it was made from.'),
    parent_id: idSchema('runtime').nullable().describe('The runtime that it is a fork of.'),
    cloud: z.string(),
    region: z.string(),
    isolation: Isolation,
    cpu: z.number(),
    memory_mib: z.number().int(),
    disk_mib: z.number().int(),
    env: z.record(z.string(), z.string()),
    metadata: z.record(z.string(), z.string()),
    secrets: z.array(z.string()).describe('By name.'),
    secrets_inside: z.boolean().describe('True where the real value of a secret is in the environment (`env: true`).'),
    ports: z
      .array(z.object({ port: z.number().int(), public: z.literal(true) }))
      .describe('The ports that are reachable without a token.'),
    network_policy: PolicyRef.nullable().describe('Null: nothing on the network can be reached.'),
    timeout_secs: z.number().int().nullable(),
    on_timeout: OnTimeout,
    idle_timeout_secs: z.number().int().nullable(),
    auto_resume: z.boolean(),
    expires_at: Timestamp.nullable().describe('When timeout_secs will have passed; null while it is paused.'),
    created_at: Timestamp,
    started_at: Timestamp.nullable(),
    paused_at: Timestamp.nullable(),
    updated_at: Timestamp,
  })
  .meta({ id: 'Runtime' })
export type Runtime = z.infer<typeof Runtime>

/** The result for one child of a fork. */
export const ForkResult = z.union([
  z.object({ runtime: Runtime, error: z.null() }),
  z.object({ runtime: z.null(), error: z.object({ code: z.string(), message: z.string(), hint: z.string() }) }),
])
export type ForkResult = z.infer<typeof ForkResult>

/** The answer to a fork: an item for each child, in the order of their making. */
export const Fork = z.object({ data: z.array(ForkResult) }).meta({ id: 'Fork' })
export type Fork = z.infer<typeof Fork>

function sizeOf(env: Readonly<Record<string, string>>): number {
  return Object.entries(env).reduce(
    (sum, [key, value]) => sum + key.length + new TextEncoder().encode(value).length + 2,
    0,
  )
}
