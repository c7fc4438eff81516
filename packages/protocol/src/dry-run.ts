import { z } from 'zod'
import { idSchema } from './ids.ts'
import { PolicyContent, PolicyRef } from './policy.ts'
import { Isolation, OnTimeout, Runtime } from './runtime.ts'

/** A reason to refuse a create: the error that the create would get, without its request id. */
export const DryRunProblem = z.object({
  code: z.string().describe('The code of the error that the create would answer.'),
  message: z.string().describe('What is wrong, for people.'),
  hint: z.string().describe('What to do next.'),
  details: z.record(z.string(), z.unknown()).optional().describe('Facts of the error, for programs.'),
})
export type DryRunProblem = z.infer<typeof DryRunProblem>

/**
 * The answer to a create with `dry_run`: the result of the create, and each reason to refuse it.
 */
export const DryRun = z
  .object({
    would_create: z.boolean().describe('True if the create would be accepted now: there are no problems.'),
    template: Runtime.shape.template.nullable().describe('Null: the template or snapshot is not known.'),
    snapshot_id: idSchema('snapshot').nullable().describe('The snapshot it would be made from. Null: none.'),
    cloud: z.string().describe('The cloud that the server serves.'),
    region: z.string().describe('The region that the server serves.'),
    isolation: Isolation.nullable().describe('Null: the host has no such class, or the snapshot is not known.'),
    cpu: z.number().nullable().describe('vCPUs. Null: it depends on a source that is not known.'),
    memory_mib: z.number().int().nullable().describe('Memory in MiB. Null: it depends on a source that is not known.'),
    disk_mib: z.number().int().nullable().describe('Disk in MiB. Null: it depends on a source that is not known.'),
    secrets: z.array(z.string()).describe('By name: those that exist.'),
    network_policy: PolicyRef.nullable().describe('Null: nothing could be reached, or the policy is not known.'),
    policy: PolicyContent.nullable().describe('What it would allow.'),
    timeout_secs: z.number().int().nullable().describe('Seconds that it would run. Null: no deadline, or not known.'),
    on_timeout: OnTimeout.nullable().describe(
      'What would happen after `timeout_secs`. Null, as the other three: the class is not known, or refused.',
    ),
    idle_timeout_secs: z
      .number()
      .int()
      .nullable()
      .describe('Seconds without use after which it would be paused. Null: never, or not known.'),
    auto_resume: z
      .boolean()
      .nullable()
      .describe('Whether a request would resume it while it is paused. Null: not known.'),
    quotas: z
      .array(
        z.object({
          quota: z.string().describe('Its name, as in the quotas of a project.'),
          limit: z.number().describe('The most that the project may have.'),
          used: z.number().describe('What the project has now.'),
          after: z.number().describe('What would be used after the create.'),
        }),
      )
      .describe('The quotas that limit the project. None: it may have as much as the host has.'),
    host: z
      .object({
        memory_max_mib: z.number().int().describe('The largest runtime that this host can have.'),
        memory_free_mib: z.number().int().describe('The largest runtime that the host takes now; 0 for none.'),
        disk_free_mib: z.number().int().describe('Free disk, without what is kept for running work.'),
      })
      .describe('The room on the host.'),
    problems: z
      .array(DryRunProblem)
      .describe('Every reason why the create would be refused, in the order in which it is checked.'),
  })
  .meta({ id: 'DryRun' })
export type DryRun = z.infer<typeof DryRun>

/**
 * The answer to a fork with `dry_run`. The size and the settings are those of each child. `quotas`
 * are the values after all children.
 */
export const ForkDryRun = DryRun.extend({
  would_create: z.boolean().describe('True if every child would be made.'),
  count: z.number().int().describe('How many children were asked for.'),
  children: z.number().int().describe('How many of them would be made.'),
}).meta({ id: 'ForkDryRun' })
export type ForkDryRun = z.infer<typeof ForkDryRun>
