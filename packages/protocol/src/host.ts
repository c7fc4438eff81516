import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Timestamp } from './page.ts'
import { Isolation } from './runtime.ts'

/** A check of the machine, as `holt doctor` has it. */
export const HostCheck = z
  .object({
    name: z.string().describe('The name of the check, such as `memory`.'),
    status: z
      .enum(['ok', 'warn', 'fix'])
      .describe('The result. `fix`: it prevents runtimes. `warn`: runtimes can do without it.'),
    message: z.string().describe('A sentence for people that says what was found.'),
    fix: z
      .string()
      .nullable()
      .describe('The command that repairs it; null if nothing is to do, or if no command helps.'),
  })
  .meta({ id: 'HostCheck' })
export type HostCheck = z.infer<typeof HostCheck>

/** The runtimes of one template and class that wait for a create. */
export const HostPool = z
  .object({
    template: z
      .object({
        template_id: idSchema('template').describe('The id of the template.'),
        name: z.string().describe('The name of the template.'),
      })
      .describe('The template of the runtimes.'),
    isolation: Isolation.describe('The isolation class of the runtimes.'),
    ready: z.int().describe('The number of runtimes that wait.'),
    making: z.int().describe('The number of runtimes that are being made.'),
    wanted: z.int().describe('The number of runtimes that should wait, by demand, floor and ceiling.'),
    hits: z
      .int()
      .describe(
        'The number of creates that got a waiting runtime since the service started. Templates of the same name share it.',
      ),
    misses: z.int().describe('The number of creates for which none waited, counted in the same way.'),
    oldest_at: Timestamp.nullable().describe(
      'When the oldest waiting runtime was made (RFC 3339 UTC with milliseconds); null if none waits.',
    ),
  })
  .meta({ id: 'HostPool' })
export type HostPool = z.infer<typeof HostPool>

const mib = (what: string) => z.int().describe(`${what}, in MiB.`)

/** The resources of a host: what it has, what is promised, and what is left. */
export const HostCapacity = z
  .object({
    cpus: z.int().describe('The number of processors.'),
    memory_mib: mib('The memory'),
    memory_available_mib: z
      .int()
      .nullable()
      .describe('The memory that the host can give now, in MiB; null if it is unknown.'),
    memory_reserved_mib: mib('The memory that runtimes may not use'),
    memory_promised_mib: mib('The memory limits together of all runtimes that have memory, those of builds too'),
    memory_used_mib: mib('The memory that runtimes take'),
    memory_overcommit: z.number().describe('The factor by which all limits together may exceed the usable memory.'),
    disk_mib: mib('The size of the disk of the state directory'),
    disk_free_mib: mib('The free part of that disk'),
    disk_reserved_mib: mib('The part of that disk that is kept for running work'),
    runtimes: z
      .record(z.string(), z.int())
      .describe('The number of runtimes of all projects that have not ended, by state. A state without any is absent.'),
  })
  .meta({ id: 'HostCapacity' })
export type HostCapacity = z.infer<typeof HostCapacity>

/** A reason why a host cannot be upgraded or removed without a loss. */
export const HostBlocker = z
  .object({
    blocks: z
      .enum(['upgrade', 'removal'])
      .describe('The blocked action. `upgrade`: a restart of the service. `removal`: to take the machine away.'),
    code: z
      .enum(['builds', 'silent', 'running', 'paused', 'snapshots', 'only_ready_host'])
      .describe(
        'The kind. `builds`: builds run here. `silent`: the host is not heard of. `running`: runtimes run here. `paused`: the files of paused runtimes are here alone. `snapshots`: the files of snapshots are here alone. `only_ready_host`: no other host is ready.',
      ),
    message: z.string().describe('A sentence for people.'),
  })
  .meta({ id: 'HostBlocker' })
export type HostBlocker = z.infer<typeof HostBlocker>

/** The place of a host in its fleet. */
export const HostInFleet = z
  .object({
    state: z
      .enum(['joining', 'ready', 'cordoned', 'draining', 'lost', 'gone'])
      .describe(
        'The state of the host. `joining`: it compares its runtimes with the store. `cordoned`: it gets no new runtimes. `lost`: its running runtimes were given up. `gone`: it was forgotten.',
      ),
    wanted: z.enum(['ready', 'cordoned', 'draining', 'gone']).describe('The state that an operator wants.'),
    silent_secs: z
      .number()
      .nullable()
      .describe('The seconds for which it has not been heard of, if that is too long; null: it is heard of.'),
    class_id: z.string().nullable().describe('The class of the checkpoints that it can restore; null: unknown.'),
    runtimes: z.int().describe('The number of runtimes of all projects that it has and that have not ended.'),
    address: z.string().describe('The address at which other hosts reach it, such as `10.1.2.3:4659`.'),
    protocol_min: z.int().describe('The oldest version of the protocol between hosts that it speaks.'),
    protocol_max: z.int().describe('The newest version of the protocol between hosts that it speaks.'),
    clock_difference_secs: z
      .number()
      .nullable()
      .describe(
        'The lead of its wall clock over that of the database, in seconds; negative if it is behind. Null: unknown.',
      ),
    duties: z.array(z.string()).describe('The work for the whole fleet that it does, such as `judge`.'),
    blockers: z.array(HostBlocker).describe('The reasons why it cannot be upgraded or removed without a loss.'),
  })
  .meta({ id: 'HostInFleet' })
export type HostInFleet = z.infer<typeof HostInFleet>

/** A request to declare a host lost. */
export const LoseHost = z
  .strictObject({
    force: z
      .boolean()
      .default(false)
      .describe('True: also a host that was heard of. Its runtimes may be heard of for some seconds more.'),
  })
  .meta({ id: 'LoseHost' })
export type LoseHost = z.infer<typeof LoseHost>
export type LoseHostInput = z.input<typeof LoseHost>

/** A request to empty a host. */
export const DrainHost = z
  .strictObject({
    deadline_secs: z
      .int()
      .min(0)
      .max(7 * 24 * 3600)
      .default(1800)
      .describe('The seconds after which runtimes that cannot move are ended.'),
    force: z
      .boolean()
      .default(false)
      .describe('True: also the last host that can resume some paused runtimes. They wait for another one.'),
    dry_run: z.boolean().default(false).describe('True: changes nothing, and says what would happen.'),
  })
  .meta({ id: 'DrainHost' })
export type DrainHost = z.infer<typeof DrainHost>
export type DrainHostInput = z.input<typeof DrainHost>

/** The runtimes of a host that is emptied, and their future. */
export const HostDrain = z
  .object({
    host_id: idSchema('host').describe('The id of the host.'),
    drains: z.boolean().describe('True if the host drains now. False after a dry run.'),
    moving: z.int().describe('The number of runtimes that are paused, and can be resumed on other hosts.'),
    ending: z.int().describe('The number of runtimes that cannot move. They end at their deadline, or at this one.'),
    paused: z.int().describe('The number of paused runtimes that only this host has so far.'),
    problems: z.array(z.string()).describe('The reasons against it, which `force` overrides; empty if there are none.'),
  })
  .meta({ id: 'HostDrain' })
export type HostDrain = z.infer<typeof HostDrain>

/** A machine that runs runtimes, with the service on it. */
export const Host = z
  .object({
    host_id: idSchema('host').describe('The id of the host. It stays for as long as its state directory.'),
    name: z.string().describe('The name of the machine.'),
    status: z.enum(['ready', 'not_ready']).describe('`ready` if the host can create runtimes.'),
    reasons: z.array(z.string()).describe('The reasons why the host is not ready; empty if it is ready.'),
    version: z.string().describe('The version of the service.'),
    engine: z.string().nullable().describe('The engine and its version; null if it does not answer.'),
    node: z.string().describe('The version of Node.js.'),
    kernel: z.string().describe('The release of the kernel.'),
    arch: z.string().describe('The architecture, such as `x64`.'),
    started_at: Timestamp.describe('When the service started (RFC 3339 UTC with milliseconds).'),
    isolation: z
      .record(
        z.string(),
        z.object({
          available: z.boolean().describe('True if the host can create runtimes of this class.'),
          runner: z.string().nullable().describe('The program that runs them; null if the class is not available.'),
          can_checkpoint: z.boolean().describe('True if runtimes of this class can keep their memory.'),
          reason: z.string().nullable().describe('Why the class is not available; null if it is available.'),
          fix: z.string().nullable().describe('The step that makes it available; null if none is needed or known.'),
        }),
      )
      .describe('The isolation classes, by name. Empty if the engine does not answer.'),
    capacity: HostCapacity.nullable().describe('The resources; null if the engine does not answer.'),
    pool_min: z.int().describe('The number of runtimes of the default template that always wait (`HOLT_POOL_MIN`).'),
    pool_max: z.int().describe('The most runtimes that wait in all pools together (`HOLT_POOL_MAX`). 0: no pools.'),
    pools: z.array(HostPool).describe('The pools of runtimes that wait for a create.'),
    checks: z
      .array(HostCheck)
      .describe(
        'The checks of the machine, as `holt doctor` makes them, without those that start an engine or read the whole store.',
      ),
    fleet: HostInFleet.nullable().describe('Its place in the fleet; null if it is in none.'),
    checked_at: Timestamp.nullable().describe(
      'When the checks were made (RFC 3339 UTC with milliseconds): at most a minute ago. Null: they took too long.',
    ),
  })
  .meta({ id: 'Host' })
export type Host = z.infer<typeof Host>
