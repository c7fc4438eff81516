import type { GitCommands, GitDiff, GitHead, GitNetwork, GitRunner } from './git-commands.ts'
import type { GitCloneOptions, GitCommitOptions, GitDiffOptions, GitOptions, GitPushOptions } from './git-options.ts'
import type { GitStatus } from './parse-status.ts'

/**
 * Git in a runtime. The runtime needs the program `git`, which the base templates have, and a
 * network policy that allows the host of a remote. A failure throws `GitFailed`.
 */
export class Git {
  readonly #load: () => Promise<GitCommands>
  constructor(commands: GitRunner, network: GitNetwork) {
    // Most programs do not use Git, so its code is loaded by the first command.
    this.#load = async () => new (await import('./git-commands.ts')).GitCommands(commands, network)
  }

  /**
   * Clones a repository. The directory must be missing or empty. With `secret`, private
   * repositories work over https, and the token stays outside of the runtime.
   */
  async clone(url: string, options: GitCloneOptions = {}): Promise<GitHead> {
    return (await this.#load()).clone(url, options)
  }

  /**
   * Returns the branch, and the files that differ from the last commit or are not tracked.
   * `truncated` is true if there are more than some 50,000.
   */
  async status(options: GitOptions = {}): Promise<GitStatus & { readonly truncated: boolean }> {
    return (await this.#load()).status(options)
  }

  /** Returns the difference between files, index and commits as a patch. */
  async diff(options: GitDiffOptions = {}): Promise<GitDiff> {
    return (await this.#load()).diff(options)
  }

  /** Commits the staged changes, and with `paths` or `all` those of files. */
  async commit(message: string, options: GitCommitOptions = {}): Promise<GitHead> {
    return (await this.#load()).commit(message, options)
  }

  /** Sends commits to a remote. With `secret`, the token stays outside of the runtime. */
  async push(options: GitPushOptions = {}): Promise<GitHead> {
    return (await this.#load()).push(options)
  }
}
