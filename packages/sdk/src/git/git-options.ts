import type { CallOptions } from '../transport/transport.ts'

/** The options of every git command. */
export interface GitOptions extends CallOptions {
  /** The directory in which git runs. Default: the working directory of the template. */
  readonly cwd?: string | undefined
  /** The user who runs git. Default: the template's. */
  readonly user?: string | undefined
  /** The time limit of git in seconds. Default: 60; for `clone` and `push` 600. */
  readonly timeout_secs?: number | undefined
}

/** The credentials for a remote. */
export interface GitCredentialOptions {
  /**
   * The secret of the runtime that holds a token for the host. The token itself stays outside of
   * the runtime, and nothing is stored in the repository. Default: none.
   */
  readonly secret?: string | undefined
  /**
   * The user name that is sent with the token. Default: `x-access-token`, which GitHub wants and
   * most hosts accept.
   */
  readonly username?: string | undefined
}

/** The reports of a transfer. */
export interface GitProgressOptions {
  /**
   * Called with each line of git's progress as it arrives, such as
   * `Receiving objects:  42% (420/1000)`. Lines of the remote begin with `remote:`.
   */
  readonly onProgress?: ((line: string) => void) | undefined
}

/** The options of a clone. */
export interface GitCloneOptions extends GitOptions, GitCredentialOptions, GitProgressOptions {
  /** The new directory. Default: the last part of the address without `.git`. */
  readonly path?: string | undefined
  /** The branch or tag to check out. Default: that of the remote. */
  readonly branch?: string | undefined
  /** The number of commits to fetch from the end of the branch. Default: all commits. */
  readonly depth?: number | undefined
}

/** The options of a diff. */
export interface GitDiffOptions extends GitOptions {
  /** True to compare the index with the last commit. Default false: compare the files. */
  readonly staged?: boolean | undefined
  /** The commit to compare with. Default: the index, or the last commit if `staged`. */
  readonly from?: string | undefined
  /** The commit to compare `from` with. Default: the files. */
  readonly to?: string | undefined
  /** The only paths to compare. Default: all. */
  readonly paths?: readonly string[] | undefined
  /** The number of unchanged lines around a change. Default: 3. */
  readonly context_lines?: number | undefined
  /** The maximum number of bytes of the patch. Default: 1 MiB. */
  readonly max_output_bytes?: number | undefined
}

/** The options of a commit. */
export interface GitCommitOptions extends GitOptions {
  /** The paths to stage before. Default: none. */
  readonly paths?: readonly string[] | undefined
  /** True to stage every change first, including untracked files. Default: false. */
  readonly all?: boolean | undefined
  /** True to allow a commit without changes. Default false. */
  readonly allow_empty?: boolean | undefined
  /** The author and committer. Default: the settings of git in the runtime. */
  readonly author?: { readonly name: string; readonly email: string } | undefined
}

/** The options of a push. */
export interface GitPushOptions extends GitOptions, GitCredentialOptions, GitProgressOptions {
  /** The name of the remote. Default: `origin`. */
  readonly remote?: string | undefined
  /** The branch to push, or `local:remote`. Default: the current branch under its own name. */
  readonly branch?: string | undefined
  /** True to make the remote branch the upstream of the local one. Default false. */
  readonly set_upstream?: boolean | undefined
  /**
   * True to replace the commits of the remote branch if they are the last fetched ones
   * (`--force-with-lease`). Default false.
   */
  readonly force?: boolean | undefined
}
