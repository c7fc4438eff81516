import type { BuildStep, CreateBuildInput } from '@holt/protocol'
import { HoltError } from './errors/errors.ts'
import { withLocalErrors } from './errors/local-error.ts'
import { Holt } from './holt.ts'
import type { BuildHandle } from './template/build-handle.ts'
import { requestOf, type TemplateSpec } from './template/template-spec.ts'
import type { WaitForBuildOptions } from './template/wait-for-build.ts'
import type { CallOptions } from './transport/transport.ts'
import type { TransferProgress } from './tree/transfer.ts'

/** Options for starting a build. */
export interface BuildOptions extends CallOptions {
  /** The client. Default: `new Holt()`. */
  readonly holt?: Holt
  /** Called with the progress of the context's upload. */
  readonly onUpload?: (progress: TransferProgress) => void
  /** Called for paths of the context that cannot be sent, such as sockets. */
  readonly onSkipped?: (path: string, reason: string) => void
}

type Fields = TemplateSpec['fields']
type Size = NonNullable<CreateBuildInput['disk']>
type Policy = CreateBuildInput['network_policy']

/**
 * Describes a template step by step. Each call returns a new description, so one can be the base of
 * several.
 */
export class TemplateBuilder {
  readonly #spec: TemplateSpec

  constructor(spec: TemplateSpec) {
    this.#spec = spec
  }

  /** Begins with a container image: `python:3.12-slim`. */
  fromImage(reference: string): TemplateBuilder {
    return this.#with({ source: { type: 'image', reference } })
  }

  /** Begins with a template, by name, `name:tag` or id. */
  fromTemplate(reference: string): TemplateBuilder {
    return this.#with({ source: { type: 'template', reference } })
  }

  /**
   * Begins with a filesystem snapshot, by name or id: its files, and the settings of the template
   * it was made from.
   */
  fromSnapshot(reference: string): TemplateBuilder {
    return this.#with({ source: { type: 'snapshot', reference } })
  }

  /**
   * Follows a Dockerfile, given as its text or its path. COPY and ADD read `context`. Its default
   * is the directory of the Dockerfile; a text has no default. `target` is the last stage to build.
   */
  fromDockerfile(
    textOrPath: string,
    options: { readonly context?: string; readonly target?: string } = {},
  ): TemplateBuilder {
    const { context, target } = options
    const next = this.#with({ source: { type: 'dockerfile', textOrPath, context } })
    return target === undefined ? next : next.#set({ target })
  }

  /** Sets the directory that `copy` reads. Default: the current one. */
  context(directory: string): TemplateBuilder {
    return this.#with({ context: directory })
  }

  /** Runs a command with the shell. Several commands are joined by `&&`. */
  run(command: string | readonly string[]): TemplateBuilder {
    return this.#step({ run: typeof command === 'string' ? command : command.join(' && ') })
  }

  /** Copies files and the content of directories of the context, as COPY does. */
  copy(
    source: string | readonly string[],
    destination: string,
    options: { readonly chown?: string; readonly chmod?: string } = {},
  ): TemplateBuilder {
    return this.#step({ copy: { source: typeof source === 'string' ? source : [...source], destination, ...options } })
  }

  /**
   * Sets variables for later steps and for runtimes. Values may use earlier ones: `/opt/bin:$PATH`;
   * `\$` is a dollar. On an image, a template or a snapshot, PATH, HOME, HOSTNAME, SHELL, USER and
   * LOGNAME apply to the steps only; `runtimeEnv` sets them for runtimes.
   */
  env(variables: Readonly<Record<string, string>>): TemplateBuilder {
    return this.#step({ env: { ...variables } })
  }

  /**
   * Sets variables of runtimes, over the image's. Values are literal, including those of PATH, HOME
   * and the like. No step sees them.
   */
  runtimeEnv(variables: Readonly<Record<string, string>>): TemplateBuilder {
    return this.#set({ env: { ...this.#spec.fields.env, ...variables } })
  }

  /** Sets the directory, for the later steps and for runtimes. A missing directory is made. */
  workdir(path: string): TemplateBuilder {
    return this.#step({ workdir: path })
  }

  /** Sets the user, for the later steps and for runtimes. */
  user(user: string): TemplateBuilder {
    return this.#step({ user })
  }

  /** Sets the command that is started in the finished image. It runs when a runtime begins. */
  startCmd(command: string): TemplateBuilder {
    return this.#set({ start_cmd: command })
  }

  /**
   * Sets a command that is repeated until it exits 0. Then the start command is ready, and the
   * state for runtimes is kept.
   */
  readyCmd(command: string, options: { readonly timeoutSecs?: number } = {}): TemplateBuilder {
    const { timeoutSecs } = options
    return this.#set({ ready_cmd: command, ...(timeoutSecs === undefined ? {} : { ready_timeout_secs: timeoutSecs }) })
  }

  /** Sets a command that runs in each new runtime before it is handed over. */
  onRestore(command: string): TemplateBuilder {
    return this.#set({ on_restore: command })
  }

  /** Sets the disk of runtimes: GiB, or a text with a unit (`8GiB`). The image must fit. */
  disk(size: Size): TemplateBuilder {
    return this.#set({ disk: size })
  }

  /** Sets the vCPUs of runtimes. */
  cpu(vCPUs: number): TemplateBuilder {
    return this.#set({ cpu: vCPUs })
  }

  /** Sets the memory of runtimes: GiB, or a text with a unit. */
  memory(size: Size): TemplateBuilder {
    return this.#set({ memory: size })
  }

  /**
   * Sets the destinations of the build's own steps: a stored policy, an inline one, or null for
   * none. Default: the public Internet.
   */
  networkPolicy(policy: Exclude<Policy, undefined>): TemplateBuilder {
    return this.#set({ network_policy: policy })
  }

  /** Sets the value of an ARG. */
  buildArg(name: string, value: string): TemplateBuilder {
    return this.#set({ build_args: { ...this.#spec.fields.build_args, [name]: value } })
  }

  /** Sets the value for a `RUN --mount=type=secret,id=ID`. No build result contains it. */
  buildSecret(id: string, value: string): TemplateBuilder {
    return this.#set({ build_secrets: { ...this.#spec.fields.build_secrets, [id]: value } })
  }

  /** Sets the credentials for the images of a registry. Default: the registry of the base image. */
  registryAuth(auth: NonNullable<CreateBuildInput['registry_auth']>): TemplateBuilder {
    return this.#set({ registry_auth: auth })
  }

  /** Sets the template's name. */
  name(name: string): TemplateBuilder {
    return this.#set({ name })
  }

  /** Sets the template's tag. Default: `latest`. */
  tag(tag: string): TemplateBuilder {
    return this.#set({ tag })
  }

  /** Sets the time limit of the build. Default: an hour. */
  timeout(seconds: number): TemplateBuilder {
    return this.#set({ timeout_secs: seconds })
  }

  /** Ignores the results of earlier builds. */
  noCache(): TemplateBuilder {
    return this.#set({ no_cache: true })
  }

  /** Sends the context, if there is one, starts the build and returns at once. */
  async build(options: BuildOptions = {}): Promise<BuildHandle> {
    const { holt = new Holt(), signal, onUpload, onSkipped } = options
    const { body, context } = await withLocalErrors(() => requestOf(this.#spec))
    if (context === null) return holt.builds.create(body, { signal })
    const sent = await holt.builds.uploadContext(context.directory, {
      signal,
      ...(context.dockerfile === null ? {} : { dockerfile: context.dockerfile }),
      ...(context.only === null ? {} : { only: context.only }),
      ...(onUpload === undefined ? {} : { onProgress: onUpload }),
    })
    for (const { path, reason } of sent.skipped) onSkipped?.(path, reason)
    return holt.builds.create({ ...body, context_id: sent.context_id }, { signal })
  }

  /**
   * Builds, and waits until the template is ready. A build that fails is a `BuildFailed` with its
   * reason, step, message and hint. Aborting the wait, by `signal` or `timeoutSecs`, does not
   * change the build.
   */
  async buildAndWait(options: BuildOptions & WaitForBuildOptions = {}): Promise<BuildHandle> {
    return (await this.build(options)).wait(options)
  }

  #with(change: Partial<TemplateSpec>): TemplateBuilder {
    return new TemplateBuilder({ ...this.#spec, ...change })
  }

  #set(fields: Fields): TemplateBuilder {
    return this.#with({ fields: { ...this.#spec.fields, ...fields } })
  }

  #step(step: BuildStep): TemplateBuilder {
    return this.#with({ steps: [...this.#spec.steps, step] })
  }
}

/** Returns a new description of a template, under a `name` or `name:tag`. */
export function Template(name?: string): TemplateBuilder {
  const empty = new TemplateBuilder({ source: null, context: null, steps: [], fields: {} })
  if (name === undefined) return empty
  const at = name.indexOf(':')
  if (at === -1) return empty.name(name)
  if (name.indexOf(':', at + 1) !== -1)
    throw new HoltError('invalid_request', `${name} is not a name or name:tag`, {
      hint: 'Leave out all but one colon.',
    })
  return empty.name(name.slice(0, at)).tag(name.slice(at + 1))
}
