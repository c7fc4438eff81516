import type { CommandResult, TestedNetwork } from '@holt/protocol'
import { GitFailed, type GitFailure, type GitFailureReason } from './git-failed.ts'
import { type RemoteAddress, remoteAddress } from './remote-address.ts'

/** A git command that failed. */
export interface FailedGit {
  /** The subcommand, such as `clone`. */
  readonly verb: string
  readonly result: CommandResult
  /** Returns the address of the remote; null for a command without one. */
  readonly url: () => Promise<string | null>
  /** The name of the secret that was used; null if there was none. */
  readonly secret: string | null
  /** Returns the decision of the network policy on a connection; null if it cannot be read. */
  readonly test: (address: RemoteAddress) => Promise<TestedNetwork | null>
}

/**
 * The words by which git names the causes. The locale of the command is English. The first match
 * counts.
 */
const causes: readonly (readonly [RegExp, GitFailureReason])[] = [
  [/not a git repository/i, 'not_a_repository'],
  [/nothing to commit|nothing added to commit|no changes added to commit/i, 'nothing_to_commit'],
  [/Please tell me who you are|unable to auto-detect email address|empty ident name/i, 'no_identity'],
  [
    /could not read (?:Username|Password)|terminal prompts disabled|Authentication failed|returned error: 40[13]|Repository not found|Invalid username or (?:password|token)/i,
    'credentials',
  ],
  [/\[rejected\]|\[remote rejected\]|failed to push some refs|stale info/i, 'rejected'],
  [
    /could not resolve host|failed to connect|couldn't connect|connection (?:refused|reset|timed out)|unable to access/i,
    'network',
  ],
]

/** The exit codes of a shell for a program that is missing or cannot run (POSIX sh, 2.8.2). */
const noProgram: readonly (number | null)[] = [126, 127]

/** Returns the error of a failed git command, with the missing policy or secret if that is why. */
export async function explainFailure(failed: FailedGit): Promise<GitFailed> {
  const { verb, result } = failed
  const facts = { exit_code: result.exit_code, stderr: result.stderr }
  if (result.timed_out)
    return new GitFailed({
      ...facts,
      reason: 'timed_out',
      message: `git ${verb} did not end within its time limit.`,
      hint: 'Give a longer timeout_secs; for a large repository, also depth.',
    })
  return new GitFailed({ ...facts, ...(await explain(failed)) })
}

async function explain(failed: FailedGit): Promise<GitFailure> {
  const { verb, result } = failed
  const reason = causeOf(result)
  const said = lastWords(result)
  const message = `git ${verb} failed${said === '' ? ` with exit code ${result.exit_code}` : `: ${said}`}`
  const local = localHints[reason]
  if (local !== undefined) return { reason, message, hint: local }
  const url = await failed.url()
  const address = url === null ? null : remoteAddress(url)
  if (address === null) return { reason, message, hint: 'The message has the words of git.' }
  return (await explainNetwork(failed, address, message)) ?? explainRemote(failed, address, { reason, message })
}

function causeOf({ exit_code, stdout, stderr }: CommandResult): GitFailureReason {
  if (noProgram.includes(exit_code)) return 'no_git'
  return causes.find(([words]) => words.test(`${stderr}\n${stdout}`))?.[1] ?? 'other'
}

const localHints: Readonly<Partial<Record<GitFailureReason, string>>> = {
  not_a_repository: 'Give cwd: the directory of a repository.',
  nothing_to_commit: 'Change a file first, and give paths or all to stage it; or give allow_empty.',
  no_identity: 'Give author with name and email, or set user.name and user.email with git config.',
  no_git: 'Use a template that contains git, such as base-small, or install it.',
  rejected: 'Fetch and merge the commits of the remote first, or give force.',
}

/** Returns the failure of a connection that the policy denies; null if it allows it. */
async function explainNetwork(
  { verb, test }: FailedGit,
  address: RemoteAddress,
  message: string,
): Promise<GitFailure | null> {
  const decision = await test(address)
  if (decision === null || decision.allowed) return null
  const { host, port } = address
  const place = port === 443 ? host : `${host}:${port}`
  return {
    reason: 'network',
    message: `git ${verb} failed: the network policy of the runtime does not allow ${host}:${port} (${decision.rule}). ${message}`,
    hint: `Allow the host: network.set({allow: [{host: "${host}"${port === 443 ? '' : `, ports: [${port}]`}}]}), or holt net set RUNTIME --allow ${place}.`,
  }
}

function explainRemote(
  { secret }: FailedGit,
  { host }: RemoteAddress,
  { reason, message }: { readonly reason: GitFailureReason; readonly message: string },
): GitFailure {
  if (reason !== 'credentials')
    return { reason, message, hint: 'holt net log RUNTIME shows the connections. The message has the words of git.' }
  const hint =
    secret === null
      ? `${host} asks for credentials. Store a token (holt secret set NAME --host ${host}), create the runtime with it, and give its name as secret.`
      : `${host} refuses the secret ${secret}. Check that its token is valid and may read or write this repository, and give the username that ${host} wants with tokens.`
  return { reason, message, hint }
}

/** Returns the last line of git that names an error, or its last line. */
function lastWords({ stderr, stdout }: CommandResult): string {
  const lines = (stderr.trim() === '' ? stdout : stderr)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return (lines.find((line) => /^(?:fatal|error|remote: error):/i.test(line)) ?? lines.at(-1) ?? '').slice(0, 500)
}
