import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Name, nameBesideId } from './name.ts'
import { Timestamp } from './page.ts'

/** The largest value of each quota, in display order. */
const mostOf = {
  runtimes: 1_000_000,
  paused_runtimes: 1_000_000,
  cpu: 1_000_000,
  memory_mib: Number.MAX_SAFE_INTEGER,
  disk_mib: Number.MAX_SAFE_INTEGER,
  snapshot_bytes: Number.MAX_SAFE_INTEGER,
  template_bytes: Number.MAX_SAFE_INTEGER,
  builds: 1_000_000,
  requests_per_sec: 1_000_000,
  request_burst: 1_000_000,
} as const

/** The name of a quota of a project. */
export type QuotaName = keyof typeof mostOf

/** The names of all quotas, in display order. */
export const quotaNames = Object.keys(mostOf) as readonly QuotaName[]

/**
 * Returns true if a quota may be set to this amount. It agrees with `quotaSchemas`, and serves
 * clients that load no schemas.
 */
export function isQuotaAmount(name: QuotaName, amount: number): boolean {
  const isAboveLeast = name === 'requests_per_sec' ? amount > 0 : amount >= (name === 'request_burst' ? 1 : 0)
  const isWhole = name === 'cpu' || name === 'requests_per_sec' || Number.isSafeInteger(amount)
  return isAboveLeast && isWhole && amount <= mostOf[name]
}

const count = z.number().int().min(0).max(mostOf.runtimes)
const bytes = z.number().int().min(0).max(mostOf.memory_mib)

/** The meaning of each quota, in display order. */
const quotaFields = {
  runtimes: count.describe(
    'The number of runtimes with memory: all that are neither paused nor ended, including those of builds.',
  ),
  paused_runtimes: count.describe('The number of paused runtimes.'),
  cpu: z.number().min(0).max(mostOf.cpu).describe('The total vCPUs of the runtimes with memory.'),
  memory_mib: bytes.describe('The total memory in MiB of the runtimes with memory.'),
  disk_mib: bytes.describe('The total disk in MiB of all runtimes that have not ended, including paused ones.'),
  snapshot_bytes: bytes.describe('The total size of the snapshots in bytes.'),
  template_bytes: bytes.describe('The total size in bytes of the images and checkpoints that the project has built.'),
  builds: count.describe('The number of builds that run at the same time. Further builds wait.'),
  requests_per_sec: z
    .number()
    .positive()
    .max(mostOf.requests_per_sec)
    .describe('The average number of requests per second.'),
  request_burst: z
    .number()
    .int()
    .min(1)
    .max(mostOf.request_burst)
    .describe('The number of requests that can arrive at once after an idle time.'),
} as const satisfies Readonly<Record<QuotaName, z.ZodType<number>>>

/**
 * Returns the default `request_burst` of a project: the requests of one second, and at least one.
 */
export function usualBurst(requestsPerSec: number): number {
  return Math.max(1, Math.ceil(requestsPerSec))
}

/** The schema of each quota's value. */
export const quotaSchemas: Readonly<Record<QuotaName, z.ZodType<number>>> = quotaFields

const nullable = Object.fromEntries(
  Object.entries(quotaFields).map(([name, schema]) => [name, schema.nullable().describe(schema.description ?? '')]),
) as {
  [Quota in QuotaName]: z.ZodNullable<(typeof quotaFields)[Quota]>
}

const settable = Object.fromEntries(
  Object.entries(quotaFields).map(([name, schema]) => [
    name,
    z
      .union([schema, z.null(), z.literal('default')])
      .optional()
      .describe(schema.description ?? ''),
  ]),
) as {
  [Quota in QuotaName]: z.ZodOptional<z.ZodUnion<[(typeof quotaFields)[Quota], z.ZodNull, z.ZodLiteral<'default'>]>>
}

/** The quotas of a project. Null means as much as the host has. */
export const Quotas = z.object(nullable).meta({ id: 'Quotas' })
export type Quotas = z.infer<typeof Quotas>

/**
 * The changes of quotas: a number, null for no limit, `default` for the service's setting. An
 * absent quota stays.
 */
export const SetQuotas = z.strictObject(settable).meta({ id: 'SetQuotas' })
export type SetQuotas = z.infer<typeof SetQuotas>

/** The use of a project, in the units of its quotas. */
export const QuotaUse = z
  .object({
    runtimes: count.describe('The number of runtimes with memory: all that are neither paused nor ended.'),
    paused_runtimes: count.describe('The number of paused runtimes.'),
    cpu: z.number().describe('The total vCPUs of the runtimes with memory.'),
    memory_mib: bytes.describe('The total memory in MiB of the runtimes with memory.'),
    disk_mib: bytes.describe('The total disk in MiB of all runtimes that have not ended.'),
    snapshot_bytes: bytes.describe('The total size of the snapshots in bytes.'),
    template_bytes: bytes.describe('The total size in bytes of the images and checkpoints that the project has built.'),
    builds: count.describe('The number of builds that run or wait.'),
  })
  .meta({ id: 'QuotaUse' })
export type QuotaUse = z.infer<typeof QuotaUse>

/** A project, the owner of all other things. */
export const Project = z
  .object({
    project_id: idSchema('project').describe('The id of the project.'),
    name: Name.describe('The name of the project, unique in the installation.'),
    quotas: Quotas.describe('The limits of the project.'),
    use: QuotaUse.describe('The current use of the project.'),
    created_at: Timestamp.describe('When the project was created (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When the project last changed (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Project' })
export type Project = z.infer<typeof Project>

/** The body of a new project. */
export const CreateProject = z
  .strictObject({
    name: nameBesideId('project').describe('The name of the project, unique in the installation.'),
    quotas: SetQuotas.default({}).describe(
      'The limits of the project. Default: an absent limit is that of the service settings.',
    ),
  })
  .meta({ id: 'CreateProject' })
export type CreateProject = z.infer<typeof CreateProject>
export type CreateProjectInput = z.input<typeof CreateProject>

/** The body of a changed project. An absent field stays. */
export const UpdateProject = z
  .strictObject({
    name: nameBesideId('project').optional().describe('The new name of the project. Default: the current name.'),
    quotas: SetQuotas.default({}).describe('The limits to change. Absent limits stay as they are.'),
  })
  .meta({ id: 'UpdateProject', examples: [{ quotas: { runtimes: 20 } }] })
export type UpdateProject = z.infer<typeof UpdateProject>
export type UpdateProjectInput = z.input<typeof UpdateProject>
