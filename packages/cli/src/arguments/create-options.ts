import type { CreateRuntimeInput, Isolation } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { UsageError } from '../verb/verb.ts'
import { addEnvironmentOptions, type EnvironmentOptions, environmentOf } from './environment-options.ts'
import { collected, keyValue, notNegative, size } from './parse.ts'
import { addPolicyOptions, type PolicyOptions, policyOf } from './policy-options.ts'

/** The options of a new runtime. */
export interface CreateOptions extends PolicyOptions, EnvironmentOptions {
  readonly template?: string
  readonly snapshot?: string
  readonly name?: string
  readonly cloud?: string
  readonly region?: string
  readonly spread?: string
  readonly isolation?: Isolation
  readonly cpu?: number
  readonly memory?: number | string
  readonly disk?: number | string
  readonly metadata?: Record<string, string>
  /** A stored policy; false if --no-network was given. */
  readonly network?: string | false
  readonly secret?: string[]
}

/** Returns the option of an isolation class. */
export function isolationOption(): Option {
  return new Option('--isolation <class>', 'the class of isolation').choices(['gvisor', 'container'])
}

/** Adds the options of a new runtime. */
export function addCreateOptions(command: Command): Command {
  const options = command
    .option('-t, --template <template>', 'template by name, name:tag or id (default: base-small)')
    .option('--snapshot <snapshot>', 'a snapshot by name or id, instead of a template')
    .option('-n, --name <name>', 'a name, unique among the runtimes that have not ended')
    .option('--cloud <cloud>', 'the cloud to run in (default: that of the service)')
    .option('--region <region>', 'the region of the cloud (default: that of the service)')
    .option('--spread <label>', 'run it on another host than runtimes with the same label, if possible')
    .addOption(isolationOption())
    .option('--cpu <vCPUs>', 'vCPUs (default: those of the template or snapshot)', notNegative)
    .option('--memory <size>', 'GiB, or with a unit: 512MiB, 512m, 8GB', size)
    .option('--disk <size>', 'GiB, or with a unit', size)
  addEnvironmentOptions(options)
  options
    .option('-m, --metadata <KEY=VALUE>', 'a label of your own; repeatable', keyValue)
    .option('--network <policy>', 'a stored network policy (default: no network)')
    .option('--no-network', 'no network, not even the one that the template has with the secret of its vendor')
  return addPolicyOptions(options).option(
    '--secret <secret>',
    'a stored secret; its placeholder is in the environment; repeatable',
    collected,
  )
}

/** Returns the body of the create for the options. */
export function createBody(options: CreateOptions): CreateRuntimeInput {
  const { template, snapshot, name, cloud, region, spread, isolation, cpu, memory, disk, metadata } = options
  const { network, secret: secrets } = options
  const env = environmentOf(options)
  const written = policyOf(options)
  if (template !== undefined && snapshot !== undefined)
    throw new UsageError('Give one of --template and --snapshot, not both')
  if (network !== undefined && written !== null)
    throw new UsageError(
      'Give a stored policy with --network, or --no-network, or rules with --allow and --include, not both',
    )
  const network_policy = network === false ? null : (network ?? written ?? undefined)
  return dropUndefined({
    template,
    snapshot,
    name,
    cloud,
    region,
    spread,
    isolation,
    cpu,
    memory,
    disk,
    env,
    metadata,
    network_policy,
    secrets,
  })
}

/** Returns an object without the fields that are undefined, which JSON would drop as well. */
export function dropUndefined<Fields extends object>(
  fields: Fields,
): { [Key in keyof Fields]: Exclude<Fields[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
