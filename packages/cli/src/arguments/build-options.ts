import type { BuildStep, CreateBuildInput } from '@holt/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { UsageError } from '../verb/verb.ts'
import { secretValues } from './build-secret.ts'
import { dropUndefined } from './create-options.ts'
import { addEnvironmentOptions, type EnvironmentOptions, environmentOf } from './environment-options.ts'
import { collected, environmentVariable, notNegative, seconds, size } from './parse.ts'
import { addPolicyOptions, type PolicyOptions, policyOf } from './policy-options.ts'
import { readSecret } from './read-secret.ts'

/** The options of a build. */
export interface BuildOptions extends PolicyOptions, EnvironmentOptions {
  readonly tag: string
  readonly file?: string
  readonly fromImage?: string
  readonly fromTemplate?: string
  readonly fromSnapshot?: string
  readonly run?: readonly BuildStep[]
  readonly copy?: readonly BuildStep[]
  readonly target?: string
  readonly buildArg?: Record<string, string>
  readonly secret?: readonly string[]
  readonly startCmd?: string
  readonly readyCmd?: string
  readonly readyTimeout?: number
  readonly onRestore?: string
  readonly disk?: number | string
  readonly memory?: number | string
  readonly cpu?: number
  readonly user?: string
  readonly workdir?: string
  readonly policy?: string
  /** False if --no-network was given. */
  readonly network: boolean
  readonly registryUser?: string
  readonly registryPasswordEnv?: string
  readonly registry?: string
  readonly timeout?: number
  readonly cache: boolean
}

/** Adds the options of a build. Steps of `--run` and `--copy` keep their order. */
export function addBuildOptions(command: Command): Command {
  const steps: BuildStep[] = []
  const step = (read: (text: string) => BuildStep) => (text: string) => {
    steps.push(read(text))
    return steps
  }
  const options = command
    .requiredOption('-t, --tag <name[:tag]>', "the template's name")
    .option('-f, --file <file>', 'the Dockerfile (default: DIR/Dockerfile); -: stdin')
    .option('--from-image <image>', 'begin with a container image instead of a Dockerfile')
    .option('--from-template <template>', 'begin with a template instead')
    .option('--from-snapshot <snapshot>', 'begin with a filesystem snapshot instead, by name or id')
    .option(
      '--run <command>',
      'with --from-...: a command to run; repeat',
      step((run) => ({ run })),
    )
    .option('--copy <source:destination>', 'with --from-...: copy from DIR; repeat', step(copyStep))
    .option('--target <stage>', 'the stage of the Dockerfile to stop at')
    .option(
      '--build-arg <NAME=VALUE>',
      'the value of an ARG; NAME alone takes its value from this shell; repeatable',
      environmentVariable,
    )
    .option('--secret <id=ID[,src=FILE|,env=NAME]>', 'for RUN --mount=type=secret; repeatable', collected)
  return addResultOptions(options)
}

function addResultOptions(command: Command): Command {
  const options = command
    .option('--start-cmd <command>', 'started in the finished image; runtimes begin with it running')
    .option('--ready-cmd <command>', 'repeated until it exits 0; then the start command is ready')
    .option('--ready-timeout <duration>', 'the most seconds until it is ready (default: 600)', seconds)
    .option('--on-restore <command>', 'run in each new runtime before it is handed over')
    .option('--disk <size>', 'of its runtimes: GiB, or with a unit: 512MiB, 8GB (default: 4)', size)
    .option('--memory <size>', 'of its runtimes (default: 1)', size)
    .option('--cpu <vCPUs>', 'of its runtimes (default: 1)', notNegative)
  addEnvironmentOptions(options, ' of its runtimes')
  options
    .option('-u, --user <user>', "the user of commands in its runtimes (default: the image's)")
    .option('-w, --workdir <path>', "the directory of commands in its runtimes (default: the image's)")
    .option('--policy <policy>', 'a stored network policy of the build (default: the public Internet)')
    .option('--no-network', 'the build has no network; its base is still pulled')
  return addPolicyOptions(options)
    .option('--registry-user <user>', 'the user that pulls images; the password comes from a prompt or stdin')
    .option('--registry-password-env <variable>', 'the environment variable that holds the password')
    .option('--registry <host>', 'the registry of that user (default: that of the first image)')
    .addOption(new Option('--timeout <duration>', 'the time limit of the build (default: 3600)').argParser(seconds))
    .option('--no-cache', 'do not use results of earlier builds')
}

/** Returns the body of the build for the options, without its Dockerfile and context. */
export async function buildBody(options: BuildOptions): Promise<CreateBuildInput> {
  const { fromImage, fromTemplate, fromSnapshot, run, copy } = options
  const steps = [...(run ?? copy ?? [])]
  const begun = [fromImage, fromTemplate, fromSnapshot].filter((from) => from !== undefined)
  const isImage = begun.length > 0
  if (begun.length > 1) throw new UsageError('Give exactly one of --from-image, --from-template and --from-snapshot')
  if (isImage && (options.file !== undefined || options.target !== undefined))
    throw new UsageError('-f and --target need a Dockerfile: leave them out with --from-...')
  if (!isImage && steps.length > 0)
    throw new UsageError('--run and --copy need --from-image, --from-template or --from-snapshot')
  return dropUndefined({
    ...nameAndTag(options.tag),
    from_image: fromImage,
    from_template: fromTemplate,
    from_snapshot: fromSnapshot,
    steps: isImage && steps.length > 0 ? steps : undefined,
    target: options.target,
    build_args: options.buildArg,
    build_secrets: options.secret === undefined ? undefined : await secretValues(options.secret),
    start_cmd: options.startCmd,
    ready_cmd: options.readyCmd,
    ready_timeout_secs: options.readyTimeout,
    on_restore: options.onRestore,
    disk: options.disk,
    memory: options.memory,
    cpu: options.cpu,
    env: environmentOf(options),
    user: options.user,
    workdir: options.workdir,
    network_policy: policyWanted(options),
    registry_auth: await registryAuth(options),
    timeout_secs: options.timeout,
    no_cache: options.cache ? undefined : true,
  })
}

/** Reads `NAME` or `NAME:TAG`. */
export function nameAndTag(text: string): { name: string; tag?: string } {
  const [name = '', tag, ...more] = text.split(':')
  if (name === '' || tag === '' || more.length > 0) throw new UsageError(`-t ${text}: it must be NAME or NAME:TAG`)
  return tag === undefined ? { name } : { name, tag }
}

function policyWanted(options: BuildOptions): CreateBuildInput['network_policy'] | undefined {
  const written = policyOf(options)
  const given = [options.policy !== undefined, written !== null, !options.network].filter((one) => one)
  if (given.length > 1)
    throw new UsageError('Give the network of the build in one way: --policy, --no-network, or --allow and --include')
  if (!options.network) return null
  return options.policy ?? written ?? undefined
}

async function registryAuth(options: BuildOptions): Promise<CreateBuildInput['registry_auth'] | undefined> {
  const { registryUser: username, registry, registryPasswordEnv: variable } = options
  if (username === undefined) {
    if (registry !== undefined || variable !== undefined)
      throw new UsageError('--registry and --registry-password-env need --registry-user')
    return undefined
  }
  if (variable === undefined && options.file === '-')
    throw new UsageError('stdin is the Dockerfile: give the password with --registry-password-env VARIABLE')
  const password = await readSecret(`password of ${username}`, variable)
  return { username, password, ...(registry === undefined ? {} : { registry }) }
}

/** Reads `SOURCE:DESTINATION`. */
function copyStep(text: string): BuildStep {
  const at = text.lastIndexOf(':')
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError('It must be SOURCE:DESTINATION.')
  return { copy: { source: text.slice(0, at), destination: text.slice(at + 1) } }
}
