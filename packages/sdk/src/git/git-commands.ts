import type { CommandResult, RuntimeNetwork, TestedNetwork, TestNetworkInput } from '@holt/protocol'
import { HoltApiError, HoltError } from '../errors/errors.ts'
import type { CallOptions } from '../transport/transport.ts'
import { explainFailure } from './explain-failure.ts'
import { credentialSettings, findSecret } from './find-secret.ts'
import type {
  GitCloneOptions,
  GitCommitOptions,
  GitCredentialOptions,
  GitDiffOptions,
  GitOptions,
  GitProgressOptions,
  GitPushOptions,
} from './git-options.ts'
import { type GitStatus, parseStatus } from './parse-status.ts'
import { ProgressLines, withoutProgress } from './progress-lines.ts'
import { directoryOf } from './remote-address.ts'
import { quoted } from './shell-words.ts'

/** A patch. */
export interface GitDiff {
  /** The patch in the unified format of git; empty if nothing differs. */
  readonly patch: string
  /** True if the patch is longer than `max_output_bytes`, and its end is missing. */
  readonly truncated: boolean
}

/** A repository at its present commit. */
export interface GitHead {
  /** The root of the working tree, as an absolute path. */
  readonly path: string
  /** The current branch; null if no branch is checked out. */
  readonly branch: string | null
  /** The current commit; null in an empty repository. */
  readonly commit: string | null
}

/** The way in which a git command is run. */
export interface GitRunner {
  run(
    argv: readonly string[],
    options: GitOptions & {
      readonly env: Readonly<Record<string, string>>
      readonly max_output_bytes?: number
      readonly onStderr?: (text: string) => void
    },
  ): Promise<CommandResult>
}

/** The network of the runtime in which git runs. */
export interface GitNetwork {
  get(options: CallOptions): Promise<RuntimeNetwork>
  test(target: TestNetworkInput, options: CallOptions): Promise<TestedNetwork>
}

const defaultTimeoutSecs = 60
/** A repository of some GiB takes minutes. */
const transferTimeoutSecs = 600

/**
 * No command waits for input that nobody gives, or takes a lock that `status` does not need. Its
 * words are those that `explainFailure` knows.
 */
const environment = { GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C.UTF-8' }

/** Prints the root, the branch and the commit of a repository, one per line. */
const showHead =
  'git rev-parse --show-toplevel && { git symbolic-ref -q --short HEAD || echo; } && { git rev-parse -q --verify HEAD || echo; }'

/** The commands of `Git`, which loads them when they are first used. */
export class GitCommands {
  readonly #commands: GitRunner
  readonly #network: GitNetwork
  constructor(commands: GitRunner, network: GitNetwork) {
    this.#commands = commands
    this.#network = network
  }

  async clone(url: string, options: GitCloneOptions = {}): Promise<GitHead> {
    const { branch, depth, path = directoryOf(url), ...rest } = options
    if (path === null)
      throw new HoltError('invalid_request', 'url names no directory.', { hint: 'Give path: the new directory.' })
    const credentials = await this.#credentials(url, rest)
    const flags = [
      ...progressFlag(rest),
      ...(branch === undefined ? [] : ['--branch', branch]),
      ...(depth === undefined ? [] : ['--depth', String(depth)]),
    ]
    const script = `directory=$1; shift; git "$@" >&2 && CDPATH= cd -- "$directory" && ${showHead}`
    const argv = [path, ...credentials, 'clone', ...flags, '--', url, path]
    const result = await this.#script('clone', script, argv, { ...rest, url, isTransfer: true })
    return parseHead(result.stdout)
  }

  async status(options: GitOptions = {}): Promise<GitStatus & { readonly truncated: boolean }> {
    const argv = ['status', '--porcelain=v2', '--branch', '-z']
    const { stdout, truncated } = await this.#git('status', argv, { ...options, max_output_bytes: maxStatusBytes })
    // The last line may be cut.
    const whole = truncated.stdout ? stdout.slice(0, stdout.lastIndexOf('\0') + 1) : stdout
    return { ...parseStatus(whole), truncated: truncated.stdout }
  }

  async diff(options: GitDiffOptions = {}): Promise<GitDiff> {
    const { staged = false, from, to, paths = [], context_lines, max_output_bytes, ...rest } = options
    if (to !== undefined && from === undefined)
      throw new HoltError('invalid_request', 'to needs from.', { hint: 'Give both commits.' })
    const argv = [
      'diff',
      '--no-color',
      '--no-ext-diff',
      ...(staged ? ['--cached'] : []),
      ...(context_lines === undefined ? [] : [`--unified=${context_lines}`]),
      '--end-of-options',
      ...[from, to].filter((commit) => commit !== undefined),
      '--',
      ...paths,
    ]
    const limit = max_output_bytes === undefined ? {} : { max_output_bytes }
    const { stdout, truncated } = await this.#git('diff', argv, { ...rest, ...limit })
    return { patch: stdout, truncated: truncated.stdout }
  }

  async commit(message: string, options: GitCommitOptions = {}): Promise<GitHead> {
    const { paths = [], all = false, allow_empty = false, author, ...rest } = options
    const identity = author === undefined ? [] : ['-c', `user.name=${author.name}`, '-c', `user.email=${author.email}`]
    const stage = all ? 'git add --all' : paths.length === 0 ? ':' : 'git add -- "$@"'
    const flags = ['--quiet', ...(allow_empty ? ['--allow-empty'] : []), '--message', message]
    const commit = quoted(['git', ...identity, 'commit', ...flags])
    const script = `${stage} >&2 && ${commit} && ${showHead}`
    return parseHead((await this.#script('commit', script, paths, rest)).stdout)
  }

  async push(options: GitPushOptions = {}): Promise<GitHead> {
    const { remote = 'origin', branch = 'HEAD', set_upstream = false, force = false, ...rest } = options
    const url = rest.secret === undefined ? undefined : await this.#remoteUrl(remote, rest)
    const credentials = url === undefined ? [] : await this.#credentials(url, rest)
    const flags = [
      ...progressFlag(rest),
      ...(set_upstream ? ['--set-upstream'] : []),
      ...(force ? ['--force-with-lease'] : []),
    ]
    const argv = [...credentials, 'push', ...flags, '--', remote, branch]
    const how = { ...rest, url, remote, isTransfer: true }
    const result = await this.#script('push', `git "$@" >&2 && ${showHead}`, argv, how)
    return parseHead(result.stdout)
  }

  async #remoteUrl(remote: string, options: GitOptions): Promise<string> {
    const { stdout } = await this.#git('remote', ['remote', 'get-url', '--push', '--', remote], optionsOfGit(options))
    return stdout.trim()
  }

  /** Returns the settings with which git takes the token from a variable of the runtime. */
  async #credentials(url: string, options: GitCredentialOptions & CallOptions): Promise<readonly string[]> {
    const { secret, username = 'x-access-token', signal } = options
    if (secret === undefined) return []
    return credentialSettings(findSecret(await this.#network.get({ signal }), secret, url), username)
  }

  #git(verb: string, argv: readonly string[], options: RunGit): Promise<CommandResult> {
    return this.#run(verb, ['git', ...argv], options)
  }

  #script(verb: string, script: string, args: readonly string[], options: RunGit): Promise<CommandResult> {
    return this.#run(verb, ['/bin/sh', '-c', script, 'git', ...args], options)
  }

  async #run(verb: string, argv: readonly string[], options: RunGit): Promise<CommandResult> {
    const { secret = null, signal, isTransfer = false, max_output_bytes, onProgress } = options
    const { timeout_secs = isTransfer ? transferTimeoutSecs : defaultTimeoutSecs } = options
    const limit = max_output_bytes === undefined ? {} : { max_output_bytes }
    const call = { ...optionsOfGit(options), timeout_secs, env: environment, ...limit }
    const lines = onProgress === undefined ? null : new ProgressLines(onProgress)
    const listener = lines === null ? {} : { onStderr: (text: string) => lines.add(text) }
    const ended = await this.#commands.run(argv, { ...call, ...listener })
    lines?.end()
    if (ended.exit_code === 0) return ended
    const result = lines === null ? ended : { ...ended, stderr: withoutProgress(ended.stderr) }
    throw await explainFailure({
      verb,
      result,
      url: () => this.#addressOf(options),
      secret,
      test: ({ host, port }) =>
        this.#network.test({ host, port }, { signal }).catch((error) => {
          // The key may lack the scope for it, and the failure of git matters more.
          if (error instanceof HoltApiError) return null
          throw error
        }),
    })
  }

  /** Returns the address of the remote that a command named; null if it has none. */
  async #addressOf({ url, remote, ...options }: RunGit): Promise<string | null> {
    if (url !== undefined || remote === undefined) return url ?? null
    try {
      return await this.#remoteUrl(remote, options)
    } catch (error) {
      // The failure of the first command matters more than that of this question.
      if (error instanceof HoltError) return null
      throw error
    }
  }
}

/** The maximum number of bytes of a status: some 50,000 files. The service allows no more. */
const maxStatusBytes = 4 * 1024 * 1024

interface RunGit extends GitOptions, GitCredentialOptions, GitProgressOptions {
  /** The address of the remote. */
  readonly url?: string | undefined
  /** The name of the remote. A failure asks for its address if `url` is not given. */
  readonly remote?: string
  readonly isTransfer?: boolean
  readonly max_output_bytes?: number
}

/** Returns the flag for progress. Without it git reports progress only to a terminal. */
function progressFlag({ onProgress }: GitProgressOptions): readonly string[] {
  return onProgress === undefined ? [] : ['--progress']
}

function optionsOfGit({ cwd, user, timeout_secs, signal }: GitOptions): GitOptions {
  return {
    ...(cwd === undefined ? {} : { cwd }),
    ...(user === undefined ? {} : { user }),
    ...(timeout_secs === undefined ? {} : { timeout_secs }),
    signal,
  }
}

function parseHead(stdout: string): GitHead {
  const [path = '', branch = '', commit = ''] = stdout.split('\n')
  return { path, branch: branch === '' ? null : branch, commit: commit === '' ? null : commit }
}
