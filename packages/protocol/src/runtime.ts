import { z } from 'zod'
import { idSchema } from './ids.ts'
import { ifSound } from './if-sound.ts'
import { Name } from './name.ts'
import { pageQuery, Timestamp } from './page.ts'
import { PolicyRef, WantedPolicy } from './policy.ts'
import { mibSchema } from './quantity.ts'
import { byteLength, maxArgumentBytes, Text, tooLongText } from './text.ts'

/** The states of a runtime. */
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

/** The client's own labels: at most 64, keys of 128 and values of 1,024 characters. */
export const Metadata = z
  .record(z.string().regex(metadataKey, 'must be 1 to 128 characters of letters, digits and _./-'), Text.max(1024))
  .refine((metadata) => Object.keys(metadata).length <= 64, 'must have at most 64 keys')

const timeoutSecs = z
  .number()
  .int()
  .min(1)
  .max(30 * 24 * 3600)

/** The default time that a pausable runtime runs, in seconds. */
export const defaultTimeoutSecs = 3600

const deadline = {
  timeout_secs: timeoutSecs
    .nullable()
    .optional()
    .describe(
      'Seconds that it runs, 1 to 2,592,000, counted from its creation and from each resume. Null: it has no deadline. Default 3600 where the runtime can be paused, else null.',
    ),
  on_timeout: OnTimeout.optional().describe(
    'What happens after `timeout_secs`. Default `pause` where the runtime can be paused, else `terminate`.',
  ),
  idle_timeout_secs: timeoutSecs
    .nullable()
    .optional()
    .describe('It is paused when nobody has used it for so many seconds, 1 to 2,592,000. Default null: never.'),
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
    region: z
      .string()
      .max(64)
      .optional()
      .describe('The region of the cloud; the server refuses what it does not serve.'),
    isolation: Isolation.optional().describe('Default: what the server was started with, else `gvisor`.'),
    cpu: z.number().min(0.1).max(256).multipleOf(0.001).optional().describe("vCPUs; default the template's."),
    memory: mibSchema({ minMiB: 64, maxMiB: 4 * 1024 * 1024 })
      .optional()
      .describe(
        `The most memory: a number of GiB (\`8\`, \`0.5\`), or a string with a unit (\`"512MiB"\`, \`"8GB"\`). Default the template's.`,
      ),
    disk: mibSchema({ minMiB: 64, maxMiB: 64 * 1024 * 1024 })
      .optional()
      .describe(
        `The size of its disk: a number of GiB (\`8\`, \`0.5\`), or a string with a unit (\`"512MiB"\`, \`"8GB"\`). Default the template's, and not smaller than that.`,
      ),
    env: Env.default({}).describe('Environment variables of every command: at most 256, together 256 KiB.'),
    metadata: Metadata.default({}).describe('Labels of your own: at most 64. The list of runtimes filters by them.'),
    ...deadline,
    network_policy: WantedPolicy.optional().describe(
      'What it may reach: a stored policy by name or id, or one written out. Absent or null: nothing. An agent template with the secret of its vendor reaches that vendor where it is absent.',
    ),
    secrets: z
      .array(Name)
      .max(32)
      .refine((names) => new Set(names).size === names.length, 'must name each secret once')
      .default([])
      .describe('Secrets by name. Their placeholders are in the environment.'),
    dry_run: z
      .boolean()
      .optional()
      .describe('Makes nothing: answers 200 with what would be made, and each reason why not.'),
  })
  .superRefine(({ template, snapshot }, context) => {
    if (template !== undefined && snapshot !== undefined)
      context.addIssue({ code: 'custom', path: ['snapshot'], message: 'excludes template' })
  }, ifSound())
  .meta({ id: 'CreateRuntime' })

/** The body of a create as a client writes it. */
export type CreateRuntimeInput = z.input<typeof CreateRuntime>
export type CreateRuntime = z.output<typeof CreateRuntime>

/** The body of a change. */
export const UpdateRuntime = z
  .strictObject({
    metadata: Metadata.optional().describe('Replaces all metadata.'),
    timeout_secs: timeoutSecs
      .nullable()
      .optional()
      .describe(
        'Seconds that it goes on running, counted from now, of a paused one from its resume. Null: no deadline.',
      ),
    on_timeout: OnTimeout.optional().describe('What happens after `timeout_secs`.'),
    idle_timeout_secs: timeoutSecs
      .nullable()
      .optional()
      .describe('It is paused when nobody has used it for so many seconds. Null: never.'),
    auto_resume: z.boolean().optional().describe('Whether a request to it resumes it while it is paused.'),
  })
  .meta({ id: 'UpdateRuntime', examples: [{ timeout_secs: 7200 }] })
export type UpdateRuntimeInput = z.input<typeof UpdateRuntime>
export type UpdateRuntime = z.output<typeof UpdateRuntime>

/** The body of a fork. An absent field has the value of the source. */
export const ForkRuntime = z
  .strictObject({
    count: z.number().int().min(1).max(100).default(1).describe('How many children, 1 to 100. Default 1.'),
    metadata: Metadata.optional().describe("Labels of the children. Default the source's."),
    timeout_secs: timeoutSecs
      .nullable()
      .optional()
      .describe("Seconds that each child runs, counted from its creation. Null: no deadline. Default the source's."),
    on_timeout: OnTimeout.optional().describe("What happens after `timeout_secs`. Default the source's."),
    idle_timeout_secs: timeoutSecs
      .nullable()
      .optional()
      .describe("A child is paused when nobody has used it for so many seconds. Null: never. Default the source's."),
    auto_resume: z
      .boolean()
      .optional()
      .describe("Whether a request to a paused child resumes it. Default the source's."),
    dry_run: z
      .boolean()
      .optional()
      .describe('Makes nothing: answers 200 with what would be made, and each reason why not.'),
  })
  .meta({ id: 'ForkRuntime' })
export type ForkRuntimeInput = z.input<typeof ForkRuntime>
export type ForkRuntime = z.output<typeof ForkRuntime>

const listFields = {
  ...pageQuery,
  state: z.enum(runtimeStates).optional().describe('Only runtimes in this state.'),
  template: Text.max(200).optional().describe('Only runtimes of this template, by name or id.'),
  name: Text.max(63).optional().describe('Only the runtime with this name.'),
  isolation: Isolation.optional().describe('Only runtimes of this class of isolation.'),
}
const metadataFilter = 'metadata.'

/**
 * The query of the list of runtimes. Fields named `metadata.KEY` filter by metadata; they repeat
 * and mean AND.
 */
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

/** Returns the labels that filter a list of runtimes, as pairs of key and value. */
export function metadataFilters(query: ListRuntimesQuery): readonly (readonly [key: string, value: string])[] {
  return Object.entries(query)
    .filter(([field]) => field.startsWith(metadataFilter))
    .flatMap(([field, values]) =>
      [values].flat().map((value) => [field.slice(metadataFilter.length), String(value)] as const),
    )
}

/** The reason for a runtime's state. */
export const StateReason = z.object({
  code: z.string().describe('The kind of reason, for programs.'),
  message: z.string().describe('What happened, in a sentence.'),
})

/** A runtime. */
export const Runtime = z
  .object({
    runtime_id: idSchema('runtime').describe('The id of the runtime.'),
    name: z.string().nullable().describe('Its name; null where it has none.'),
    state: z.enum(runtimeStates).describe('Its state. `terminated` and `failed` are final.'),
    state_reason: StateReason.nullable().describe('Why it is in this state; null where there is nothing to say.'),
    template: z
      .object({
        template_id: idSchema('template').describe('The id of the template.'),
        name: z.string().describe('The name of the template.'),
      })
      .describe('The template that it was made from.'),
    snapshot_id: idSchema('snapshot').nullable().describe('The snapshot it was made from.'),
    parent_id: idSchema('runtime').nullable().describe('The runtime that it is a fork of.'),
    cloud: z.string().describe('Where it runs, as the operator has named it.'),
    region: z.string().describe('The region of the cloud.'),
    isolation: Isolation.describe(
      'The class of isolation: `gvisor` for untrusted code, `container` for code you trust.',
    ),
    cpu: z.number().describe('The most vCPUs.'),
    memory_mib: z.number().int().describe('The most memory in MiB.'),
    disk_mib: z.number().int().describe('The size of its disk in MiB.'),
    env: z.record(z.string(), z.string()).describe('Environment variables of every command.'),
    metadata: z.record(z.string(), z.string()).describe('Labels of your own.'),
    secrets: z.array(z.string()).describe('The secrets that it has, by name.'),
    secrets_inside: z.boolean().describe('True where the real value of a secret is in the environment (`env: true`).'),
    ports: z
      .array(
        z.object({
          port: z.number().int().describe('The port inside the runtime.'),
          public: z.literal(true).describe('Always true.'),
        }),
      )
      .describe('The ports that are reachable without a token.'),
    network_policy: PolicyRef.nullable().describe('Null: nothing on the network can be reached.'),
    timeout_secs: z
      .number()
      .int()
      .nullable()
      .describe('Seconds that it runs, from its creation and from each resume; null: it has no deadline.'),
    on_timeout: OnTimeout.describe('What happens after `timeout_secs`.'),
    idle_timeout_secs: z
      .number()
      .int()
      .nullable()
      .describe('It is paused when nobody has used it for so many seconds; null: never.'),
    auto_resume: z.boolean().describe('Whether a request to it resumes it while it is paused.'),
    expires_at: Timestamp.nullable().describe(
      'When `timeout_secs` will have passed (RFC 3339 UTC with milliseconds); null while it is paused.',
    ),
    created_at: Timestamp.describe('When it was made (RFC 3339 UTC with milliseconds).'),
    started_at: Timestamp.nullable().describe('When it ran first (RFC 3339 UTC with milliseconds); null before.'),
    paused_at: Timestamp.nullable().describe('When it was paused last (RFC 3339 UTC with milliseconds); null: never.'),
    updated_at: Timestamp.describe('When it changed last (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Runtime' })
export type Runtime = z.infer<typeof Runtime>

/** The result for one child of a fork. */
export const ForkResult = z.union([
  z.object({ runtime: Runtime.describe('The child.'), error: z.null().describe('Null: the child was made.') }),
  z.object({
    runtime: z.null().describe('Null: the child could not be made.'),
    error: z
      .object({
        code: z.string().describe('The error code, from the catalogue.'),
        message: z.string().describe('What happened, in a sentence.'),
        hint: z.string().describe('What to do next.'),
      })
      .describe('Why the child could not be made.'),
  }),
])
export type ForkResult = z.infer<typeof ForkResult>

/** The answer to a fork: an item for each child, in the order of creation. */
export const Fork = z
  .object({ data: z.array(ForkResult).describe('One item for each child, in the order of their making.') })
  .meta({ id: 'Fork' })
export type Fork = z.infer<typeof Fork>

function sizeOf(env: Readonly<Record<string, string>>): number {
  return Object.entries(env).reduce(
    (sum, [key, value]) => sum + key.length + new TextEncoder().encode(value).length + 2,
    0,
  )
}
