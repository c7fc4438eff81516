import { z } from 'zod'
import { idSchema } from './ids.ts'
import { ifSound } from './if-sound.ts'
import { Name } from './name.ts'
import { pageQuery, Timestamp } from './page.ts'
import { PolicyRef, WantedPolicy } from './policy.ts'
import { mibSchema } from './quantity.ts'
import { queryTexts } from './query-texts.ts'
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

/** The key of a label: any text of 1 to 128 characters. */
const MetadataKey = Text.min(1).max(128)

/** The client's own labels: at most 64, keys of 128 and values of 1,024 characters. */
export const Metadata = z
  .record(MetadataKey, Text.max(1024))
  .refine((metadata) => Object.keys(metadata).length <= 64, 'must have at most 64 keys')
export type Metadata = z.output<typeof Metadata>

/** The label of runtimes that are kept on different hosts. */
const Spread = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_" and "-"')

/** Changes of labels: a value sets a label, and null removes it. */
const MetadataPatch = z
  .record(MetadataKey, Text.max(1024).nullable())
  .refine((patch) => Object.keys(patch).length <= 128, 'must have at most 128 keys')

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
      'The lifetime in seconds, 1 to 2,592,000, counted from the creation and from each resume. Null: no deadline. Default 3600 for a runtime that can be paused, else null.',
    ),
  on_timeout: OnTimeout.optional().describe(
    'The action after `timeout_secs`. Default: `pause` for a runtime that can be paused, else `terminate`.',
  ),
  idle_timeout_secs: timeoutSecs
    .nullable()
    .optional()
    .describe('The idle time in seconds after which the runtime is paused, 1 to 2,592,000. Default null: never.'),
  auto_resume: z.boolean().optional().describe('True: a request to the paused runtime resumes it. Default true.'),
}

/** The body of a create. */
export const CreateRuntime = z
  .strictObject({
    template: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('The template, by name, `name:tag` or id. Excludes `snapshot`. Default `base-small`.'),
    snapshot: Text.min(1)
      .max(63)
      .optional()
      .describe('The snapshot to create from, by name or id. Excludes `template`. Default: none.'),
    name: Name.optional().describe(
      'The name of the runtime, unique among the runtimes that have not ended. Default: no name.',
    ),
    cloud: z
      .string()
      .max(64)
      .optional()
      .describe(
        'The cloud to run in. A cloud that the server does not serve is refused. Default: the cloud of the server.',
      ),
    region: z
      .string()
      .max(64)
      .optional()
      .describe(
        'The region of the cloud. A region that the server does not serve is refused. Default: the region of the server.',
      ),
    spread: Spread.optional().describe(
      'A label of 1 to 64 characters. In a fleet, runtimes of the project with the same label are placed on different hosts if possible. Default: none.',
    ),
    isolation: Isolation.optional().describe(
      'The isolation class. Default: the class that the server is configured with, else `gvisor`.',
    ),
    cpu: z
      .number()
      .min(0.1)
      .max(256)
      .multipleOf(0.001)
      .optional()
      .describe('The vCPUs. Default: the vCPUs of the template.'),
    memory: mibSchema({ minMiB: 64, maxMiB: 4 * 1024 * 1024 })
      .optional()
      .describe(
        'The memory limit: a number of GiB (`8`, `0.5`), or a string with a unit (`"512MiB"`, `"8GB"`). Default: the memory of the template.',
      ),
    disk: mibSchema({ minMiB: 64, maxMiB: 64 * 1024 * 1024 })
      .optional()
      .describe(
        'The disk size: a number of GiB (`8`, `0.5`), or a string with a unit (`"512MiB"`, `"8GB"`). Default: the disk of the template, which is also the minimum.',
      ),
    env: Env.default({}).describe(
      'Environment variables of every command: at most 256, in total 256 KiB. Default: none.',
    ),
    metadata: Metadata.default({}).describe(
      'Your own labels, at most 64: keys of 1 to 128 characters, values of at most 1,024. The list of runtimes can filter by them. Default: none.',
    ),
    ...deadline,
    network_policy: WantedPolicy.optional().describe(
      'The network policy: a stored policy by name or id, or an inline policy. Null: the runtime reaches nothing. Default: null; an agent template with the secret of its vendor reaches that vendor.',
    ),
    secrets: z
      .array(Name)
      .max(32)
      .refine((names) => new Set(names).size === names.length, 'must name each secret once')
      .default([])
      .describe(
        'The names of the secrets to give to the runtime. Their placeholders are in its environment. Default: none.',
      ),
    dry_run: z
      .boolean()
      .optional()
      .describe(
        'True: create nothing, and answer 200 with the planned runtime and every reason for a refusal. Default false.',
      ),
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
    metadata: Metadata.optional().describe('The new labels; they replace all labels. Default: the current labels.'),
    metadata_patch: MetadataPatch.optional().describe(
      'The labels to set, as a merge patch (RFC 7396): null removes a label, and other labels stay. Excludes `metadata`. Default: no change.',
    ),
    timeout_secs: timeoutSecs
      .nullable()
      .optional()
      .describe(
        'The remaining lifetime in seconds, counted from now. For a paused runtime, it is counted from its resume. Null: no deadline. Default: no change.',
      ),
    on_timeout: OnTimeout.optional().describe('The action after `timeout_secs`. Default: no change.'),
    idle_timeout_secs: timeoutSecs
      .nullable()
      .optional()
      .describe('The idle time in seconds after which the runtime is paused. Null: never. Default: no change.'),
    auto_resume: z
      .boolean()
      .optional()
      .describe('True: a request to the paused runtime resumes it. Default: no change.'),
  })
  .refine(({ metadata, metadata_patch }) => metadata === undefined || metadata_patch === undefined, {
    path: ['metadata_patch'],
    message: 'excludes metadata',
  })
  .meta({ id: 'UpdateRuntime', examples: [{ timeout_secs: 7200 }] })
export type UpdateRuntimeInput = z.input<typeof UpdateRuntime>
export type UpdateRuntime = z.output<typeof UpdateRuntime>

/** The body of a fork. An absent field has the value of the source. */
export const ForkRuntime = z
  .strictObject({
    count: z.number().int().min(1).max(100).default(1).describe('The number of children, 1 to 100. Default 1.'),
    metadata: Metadata.optional().describe('The labels of the children. Default: those of the source.'),
    timeout_secs: timeoutSecs
      .nullable()
      .optional()
      .describe(
        'The lifetime of each child in seconds, counted from its creation. Null: no deadline. Default: that of the source.',
      ),
    on_timeout: OnTimeout.optional().describe('The action after `timeout_secs`. Default: that of the source.'),
    idle_timeout_secs: timeoutSecs
      .nullable()
      .optional()
      .describe('The idle time in seconds after which a child is paused. Null: never. Default: that of the source.'),
    auto_resume: z
      .boolean()
      .optional()
      .describe('True: a request to a paused child resumes it. Default: as for the source.'),
    record_files: z
      .boolean()
      .optional()
      .describe(
        'True: keep a record of the files, so that a diff of a child compares with the fork and not with the image. It takes time in proportion to the number of files. Default false.',
      ),
    dry_run: z
      .boolean()
      .optional()
      .describe(
        'True: create nothing, and answer 200 with the planned children and every reason for a refusal. Default false.',
      ),
  })
  .meta({ id: 'ForkRuntime' })
export type ForkRuntimeInput = z.input<typeof ForkRuntime>
export type ForkRuntime = z.output<typeof ForkRuntime>

/** Returns true if all texts are states of a runtime. */
function areStates(texts: readonly string[]): texts is RuntimeState[] {
  return texts.every((text) => (runtimeStates as readonly string[]).includes(text))
}

/** The states in a query. */
const statesOfQuery = queryTexts
  .refine(areStates, `must be states: ${runtimeStates.join(', ')}`)
  .optional()
  .describe('Only runtimes in these states. Repeat the parameter, or separate states by commas. Default: all states.')

/** The ids of runtimes in a query. */
export const runtimeIdsOfQuery = queryTexts.pipe(z.array(idSchema('runtime')).max(100)).optional()

const listFields = {
  ...pageQuery,
  runtime_id: runtimeIdsOfQuery.describe(
    'Only these runtimes, at most 100. Repeat the parameter, or separate ids by commas. Unknown ids are left out.',
  ),
  state: statesOfQuery,
  template: Text.max(200).optional().describe('Only runtimes of this template, by name or id.'),
  name: Text.max(63).optional().describe('Only the runtime with this name.'),
  isolation: Isolation.optional().describe('Only runtimes of this isolation class.'),
  parent: Text.max(22).optional().describe('Only forks of the runtime with this id.'),
  network_policy: Text.max(63).optional().describe('Only runtimes with this stored network policy, by name or id.'),
  secret: Text.max(63).optional().describe('Only runtimes with this secret, by name or id.'),
  snapshot: Text.max(63).optional().describe('Only runtimes that were created from this snapshot, by name or id.'),
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
    if (isFilter && MetadataKey.safeParse(field.slice(metadataFilter.length)).success) continue
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
  message: z.string().describe('A sentence for people that says what happened.'),
})

/** A runtime. */
export const Runtime = z
  .object({
    runtime_id: idSchema('runtime').describe('The id of the runtime.'),
    name: z.string().nullable().describe('The name of the runtime; null if it has no name.'),
    state: z.enum(runtimeStates).describe('The state of the runtime. `terminated` and `failed` are final.'),
    state_reason: StateReason.nullable().describe(
      'Why the runtime is in this state; null if there is no reason to give.',
    ),
    template: z
      .object({
        template_id: idSchema('template').describe('The id of the template.'),
        name: z.string().describe('The name of the template.'),
      })
      .describe('The template of the runtime.'),
    snapshot_id: idSchema('snapshot')
      .nullable()
      .describe('The snapshot that the runtime was created from; null if it was not created from one.'),
    parent_id: idSchema('runtime')
      .nullable()
      .describe('The runtime that this one was forked from; null if it is not a fork.'),
    cloud: z.string().describe('The cloud of the runtime, as the operator has named it.'),
    region: z.string().describe('The region of the cloud.'),
    spread: z
      .string()
      .nullable()
      .describe('The label of runtimes that are placed on different hosts if possible; null if there is none.'),
    isolation: Isolation.describe(
      'The isolation class: `gvisor` for untrusted code, `container` for code that you trust.',
    ),
    cpu: z.number().describe('The vCPU limit.'),
    memory_mib: z.number().int().describe('The memory limit in MiB.'),
    disk_mib: z.number().int().describe('The disk size in MiB.'),
    env: z.record(z.string(), z.string()).describe('Environment variables of every command.'),
    metadata: z.record(z.string(), z.string()).describe('Your own labels.'),
    secrets: z.array(z.string()).describe('The names of the secrets of the runtime.'),
    secrets_inside: z.boolean().describe('True if the environment has the real value of a secret (`env: true`).'),
    ports: z
      .array(
        z.object({
          port: z.number().int().describe('The port inside the runtime.'),
          public: z.literal(true).describe('Always true.'),
        }),
      )
      .describe('The public ports, which need no token.'),
    network_policy: PolicyRef.nullable().describe('The network policy; null if the runtime reaches nothing.'),
    timeout_secs: z
      .number()
      .int()
      .nullable()
      .describe('The lifetime in seconds, from the creation and from each resume; null if there is no deadline.'),
    on_timeout: OnTimeout.describe('The action after `timeout_secs`.'),
    idle_timeout_secs: z
      .number()
      .int()
      .nullable()
      .describe('The idle time in seconds after which the runtime is paused; null: never.'),
    auto_resume: z.boolean().describe('True if a request to the paused runtime resumes it.'),
    expires_at: Timestamp.nullable().describe(
      'When `timeout_secs` ends (RFC 3339 UTC with milliseconds); null without a deadline and while the runtime is paused.',
    ),
    created_at: Timestamp.describe('When the runtime was created (RFC 3339 UTC with milliseconds).'),
    started_at: Timestamp.nullable().describe(
      'When the runtime first ran (RFC 3339 UTC with milliseconds); null before that.',
    ),
    paused_at: Timestamp.nullable().describe(
      'When the runtime was last paused (RFC 3339 UTC with milliseconds); null if never.',
    ),
    updated_at: Timestamp.describe('When the runtime last changed (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Runtime' })
export type Runtime = z.infer<typeof Runtime>

/** The result for one child of a fork. */
export const ForkResult = z.union([
  z.object({
    runtime: Runtime.describe('The created child.'),
    error: z.null().describe('Always null: the child was created.'),
  }),
  z.object({
    runtime: z.null().describe('Always null: the child was not created.'),
    error: z
      .object({
        code: z.string().describe('The error code, from the catalogue.'),
        message: z.string().describe('A sentence for people that says what happened.'),
        hint: z.string().describe('The next step to take.'),
      })
      .describe('Why the child was not created.'),
  }),
])
export type ForkResult = z.infer<typeof ForkResult>

/** The answer to a fork: an item for each child, in the order of creation. */
export const Fork = z
  .object({ data: z.array(ForkResult).describe('One result for each child, in the order of their creation.') })
  .meta({ id: 'Fork' })
export type Fork = z.infer<typeof Fork>

function sizeOf(env: Readonly<Record<string, string>>): number {
  return Object.entries(env).reduce(
    (sum, [key, value]) => sum + key.length + new TextEncoder().encode(value).length + 2,
    0,
  )
}
