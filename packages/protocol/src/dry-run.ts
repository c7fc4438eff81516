import { z } from 'zod'
import { idSchema } from './ids.ts'
import { PolicyContent, PolicyRef } from './policy.ts'
import { Isolation, OnTimeout, Runtime } from './runtime.ts'

/** A reason to refuse a create: the error that the create would get, without its request id. */
export const DryRunProblem = z.object({
  code: z.string().describe('The error code that the create would answer with.'),
  message: z.string().describe('A sentence for people that says what is wrong.'),
  hint: z.string().describe('The next step to take.'),
  details: z.record(z.string(), z.unknown()).optional().describe('Details of the error, for programs.'),
})
export type DryRunProblem = z.infer<typeof DryRunProblem>

/**
 * The answer to a create with `dry_run`: the result of the create, and each reason to refuse it.
 */
export const DryRun = z
  .object({
    would_create: z.boolean().describe('True if the create would succeed now: there are no problems.'),
    template: Runtime.shape.template
      .nullable()
      .describe('The template of the runtime; null if the template or snapshot is not known.'),
    snapshot_id: idSchema('snapshot')
      .nullable()
      .describe('The snapshot that the runtime would be created from; null if there is none.'),
    cloud: z.string().describe('The cloud that the server serves.'),
    region: z.string().describe('The region that the server serves.'),
    isolation: Isolation.nullable().describe(
      'The isolation class; null if the host does not have the class or the snapshot is not known.',
    ),
    cpu: z.number().nullable().describe('The vCPUs; null if the template or snapshot is not known.'),
    memory_mib: z
      .number()
      .int()
      .nullable()
      .describe('The memory in MiB; null if the template or snapshot is not known.'),
    disk_mib: z.number().int().nullable().describe('The disk in MiB; null if the template or snapshot is not known.'),
    secrets: z.array(z.string()).describe('The names of the requested secrets that exist.'),
    network_policy: PolicyRef.nullable().describe(
      'The network policy; null if there is none or it is not known. Without a policy, the runtime reaches nothing.',
    ),
    policy: PolicyContent.nullable().describe(
      'The content of the network policy; null if there is none or it is not known.',
    ),
    timeout_secs: z
      .number()
      .int()
      .nullable()
      .describe('The lifetime in seconds; null if there is no deadline or it is not known.'),
    on_timeout: OnTimeout.nullable().describe(
      'The action after `timeout_secs`; null if the isolation class is not known or is refused.',
    ),
    idle_timeout_secs: z
      .number()
      .int()
      .nullable()
      .describe('The idle time in seconds before a pause; null if idle runtimes are never paused or it is not known.'),
    auto_resume: z
      .boolean()
      .nullable()
      .describe('True if a request would resume the paused runtime; null if it is not known.'),
    quotas: z
      .array(
        z.object({
          quota: z.string().describe('The name of the quota, as in the quotas of a project.'),
          limit: z.number().describe('The limit of the project.'),
          used: z.number().describe('The amount that the project uses now.'),
          after: z.number().describe('The amount that the project would use after the create.'),
        }),
      )
      .describe('The quotas that limit the project. Empty: only the host limits the project.'),
    host: z
      .object({
        memory_max_mib: z
          .number()
          .int()
          .describe('The memory in MiB of the largest runtime that this host can ever run.'),
        memory_free_mib: z
          .number()
          .int()
          .describe('The memory in MiB of the largest runtime that the host can run now; 0 if there is no room.'),
        disk_free_mib: z.number().int().describe('The free disk in MiB, without the reserve for running work.'),
      })
      .describe('The capacity of the host.'),
    problems: z
      .array(DryRunProblem)
      .describe('Every reason to refuse the create, in the order of the checks. Empty: the create would succeed.'),
  })
  .meta({ id: 'DryRun' })
export type DryRun = z.infer<typeof DryRun>

/**
 * The answer to a fork with `dry_run`. The size and the settings are those of each child. `quotas`
 * are the values after all children.
 */
export const ForkDryRun = DryRun.extend({
  would_create: z.boolean().describe('True if every child would be created.'),
  count: z.number().int().describe('The number of requested children.'),
  children: z.number().int().describe('The number of children that would be created.'),
}).meta({ id: 'ForkDryRun' })
export type ForkDryRun = z.infer<typeof ForkDryRun>
