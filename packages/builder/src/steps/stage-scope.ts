import { posix } from 'node:path'
import type { BuildSettings } from '../contract/build-contract.ts'
import { expandWord } from '../dockerfile/expand-word.ts'
import type { BuildPlan, Instruction, Pair } from '../dockerfile/plan.ts'
import { WordAccount } from '../dockerfile/word-account.ts'
import { BuildError } from '../errors.ts'
import { expandPorts } from './expand-ports.ts'
import { Variables } from './variables.ts'

/** The PATH that container engines assume if an image sets none. */
export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The maximum size of the environment in bytes. Every process gets all of it. */
const MAX_ENV_BYTES = 128 * 1024
const MAX_LABEL_BYTES = 128 * 1024
const MAX_PATH_BYTES = 4096
const MAX_PORTS = 1000
/** The characters charged for each exposed port, because a number is created and looked up. */
const CHARACTERS_PER_PORT = 128

/**
 * The build arguments that every RUN has. They are part of no key of the cache, because the proxy
 * does not change the fetched content.
 */
const proxies: ReadonlySet<string> = new Set(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
)

/** The build arguments of a request, and their use. */
export class BuildArgs {
  readonly #given: ReadonlyMap<string, string>
  readonly #global: ReadonlyMap<string, string>
  readonly #used = new Set<string>()
  /**
   * The account for the words of all stages. It continues from the state in which reading the file
   * left it.
   */
  readonly account: WordAccount

  constructor(given: Readonly<Record<string, string>>, plan: Pick<BuildPlan, 'globalArgs' | 'spent'>) {
    this.account = new WordAccount(plan.spent)
    this.#given = new Map(Object.entries(given))
    this.#global = new Map(Object.entries(plan.globalArgs))
    for (const name of this.#global.keys()) this.#used.add(name)
    for (const name of proxies) this.#used.add(name)
  }

  /**
   * Returns the value in a stage that declares the variable: the given one, else its default, else
   * its value before the first FROM.
   */
  valueOf(name: string, fallback: string | null): string | undefined {
    this.#used.add(name)
    return this.#given.get(name) ?? fallback ?? this.#global.get(name)
  }

  /** The build arguments for proxies. */
  get proxies(): ReadonlyMap<string, string> {
    return new Map([...this.#given].filter(([name]) => proxies.has(name)))
  }

  get unused(): readonly string[] {
    return [...this.#given.keys()].filter((name) => !this.#used.has(name))
  }
}

/** The state that a stage starts with. */
export interface ScopeBase {
  readonly settings: BuildSettings
  /** The arguments declared in the stage that it is built on. */
  readonly args: ReadonlyMap<string, string>
}

/**
 * The settings of a stage as its instructions change them, and the variables that words and
 * commands see. As in BuildKit, ENV takes precedence over ARG.
 */
export class StageScope {
  readonly #build: BuildArgs
  readonly #escape: BuildPlan['escape']
  readonly #env: Variables
  readonly #args: Variables
  readonly #labels: Variables
  readonly #ports: Set<string>
  readonly #onBuild: readonly string[]
  /** Variables that ENV has set so far, with their lines. */
  readonly envLines: { readonly name: string; readonly line: number }[] = []
  user: string
  workdir: string
  shell: readonly string[]

  constructor({ settings: base, args }: ScopeBase, build: BuildArgs, quote: BuildPlan['escape']) {
    this.#args = new Variables(args)
    this.#build = build
    this.#escape = quote
    this.#env = new Variables(Object.entries(base.env))
    if (!this.#env.has('PATH')) this.#env.set('PATH', DEFAULT_PATH)
    build.account.produce(this.#args.size + this.#env.size)
    this.#labels = new Variables(Object.entries(base.labels))
    this.#ports = new Set(base.ports)
    this.#onBuild = base.onBuild
    this.user = base.user
    this.workdir = posix.resolve('/', base.workdir)
    this.shell = base.shell.length > 0 ? base.shell : ['/bin/sh', '-c']
  }

  /** Returns a word with its variables expanded and its quotes removed. */
  expand(word: string): string {
    return expandWord(word, this.#lookup, { escapeChar: this.#escape, account: this.#build.account })
  }

  /**
   * Returns a here-document with its variables expanded, as a shell does. Quotes are literal, and a
   * backslash escapes only a dollar and itself.
   */
  expandText(text: string): string {
    const quoted = text.replace(/\\[$\\]|[\\'"]/g, (part) => (part.length === 2 ? part : `\\${part}`))
    return expandWord(quoted, this.#lookup, { account: this.#build.account })
  }

  /**
   * Returns the environment of a command, which has the Dockerfile's own variables only. Charges
   * the account for it.
   */
  get commandEnv(): Readonly<Record<string, string>> {
    this.#build.account.produce(this.#args.size + this.#env.size)
    return Object.fromEntries([...this.#args.values, ...this.#env.values])
  }

  /** The variables declared so far. */
  get args(): ReadonlyMap<string, string> {
    return this.#args.values
  }

  get settings(): BuildSettings {
    return {
      env: Object.fromEntries(this.#env.values),
      user: this.user,
      workdir: this.workdir,
      shell: this.shell,
      labels: Object.fromEntries(this.#labels.values),
      ports: [...this.#ports],
      onBuild: this.#onBuild,
    }
  }

  /** Applies an instruction that only changes settings. Returns false for any other instruction. */
  follow(instruction: Instruction): boolean {
    switch (instruction.type) {
      case 'env':
        for (const { name } of instruction.pairs)
          this.envLines.push({ name: this.expand(name), line: instruction.line })
        return this.#setPairs(this.#env, instruction.pairs, MAX_ENV_BYTES)
      case 'label':
        return this.#setPairs(this.#labels, instruction.pairs, MAX_LABEL_BYTES)
      case 'arg':
        return this.#declare(instruction.args)
      case 'user':
        this.user = bounded(this.expand(instruction.user).trim(), 256, 'USER')
        return true
      case 'shell':
        this.shell = instruction.shell
        return true
      case 'expose':
        for (const word of instruction.ports) this.#expose(word)
        return true
      default:
        return false
    }
  }

  /** Applies WORKDIR and returns its directory, relative to the one before. */
  changeDirectory(word: string): string {
    const path = bounded(this.expand(word), MAX_PATH_BYTES, 'WORKDIR')
    this.workdir = posix.resolve('/', this.workdir, path)
    return this.workdir
  }

  readonly #lookup = (name: string): string | undefined => this.#env.get(name) ?? this.#args.get(name)

  #expose(word: string): void {
    for (const port of expandPorts(this.expand(word))) {
      // A range takes few characters, and may be repeated.
      this.#build.account.produce(CHARACTERS_PER_PORT)
      this.#ports.add(port)
      if (this.#ports.size > MAX_PORTS) throw invalid(`EXPOSE names more than ${MAX_PORTS} ports.`)
    }
  }

  /**
   * Sets the pairs of one instruction. All of its words see the variables as they were before it.
   */
  #setPairs(target: Variables, pairs: readonly Pair[], maxBytes: number): true {
    const expanded = pairs.map(({ name, value }) => [this.expand(name), this.expand(value)] as const)
    for (const [name, value] of expanded) {
      if (name === '' || name.includes('=')) throw invalid(`${JSON.stringify(name)} is not a name.`)
      target.set(name, value)
    }
    if (target.jsonBytes > maxBytes) throw invalid(`More than ${maxBytes} bytes are set.`)
    this.#holdVariables()
    return true
  }

  #declare(args: readonly { readonly name: string; readonly default: string | null }[]): true {
    const expanded = args.map((arg) => [arg.name, arg.default === null ? null : this.expand(arg.default)] as const)
    for (const [name, fallback] of expanded) {
      const value = this.#build.valueOf(name, fallback)
      if (value !== undefined) this.#args.set(name, value)
    }
    this.#holdVariables()
    return true
  }

  #holdVariables(): void {
    this.#build.account.hold(this.#args.size + this.#env.size)
  }
}

function bounded(text: string, maxBytes: number, what: string): string {
  if (text === '') throw invalid(`${what} is empty.`)
  if (text.includes('\0') || Buffer.byteLength(text) > maxBytes) throw invalid(`${what} is too long.`)
  return text
}

function invalid(message: string): BuildError {
  return new BuildError('dockerfile_invalid', message)
}
