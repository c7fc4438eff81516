import { HoltError } from '../errors/errors.ts'

/**
 * The reasons for a failure of git, for programs. `network`: the host could not be reached.
 * `credentials`: the host asks for credentials, or refuses them. `rejected`: the remote has commits
 * that a push would lose. `other`: the message has the words of git.
 */
export type GitFailureReason =
  | 'network'
  | 'credentials'
  | 'rejected'
  | 'not_a_repository'
  | 'nothing_to_commit'
  | 'no_identity'
  | 'no_git'
  | 'timed_out'
  | 'other'

/** The facts of a failure of git. */
export interface GitFailure {
  readonly reason: GitFailureReason
  readonly message: string
  readonly hint: string
  /** The exit code of git; null if it did not run, or did not end by itself. */
  readonly exit_code?: number | null | undefined
  /** The words of git on stderr. Default: none. */
  readonly stderr?: string | undefined
}

/** The error of a git command that failed in a runtime, or that could not work there. */
export class GitFailed extends HoltError {
  declare readonly code: 'git_failed'
  readonly reason: GitFailureReason
  /** The exit code of git; null if it did not run, or did not end by itself. */
  readonly exit_code: number | null
  /** The words of git on stderr. */
  readonly stderr: string
  constructor({ reason, message, hint, exit_code = null, stderr = '' }: GitFailure) {
    super('git_failed', message, { hint, details: { reason, exit_code: exit_code, stderr } })
    this.name = 'GitFailed'
    this.reason = reason
    this.exit_code = exit_code
    this.stderr = stderr
  }
}
