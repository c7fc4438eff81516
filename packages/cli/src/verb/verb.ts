import type { Command } from 'commander'

/** The error for a wrong command line that only the verb can detect. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Ends the CLI with an exit code. `cause`, a failure of `command`, is printed first. */
export class ExitStatus extends Error {
  override readonly name = 'ExitStatus'
  readonly exitCode: number
  readonly command: Command | undefined
  constructor(exitCode: number, cause?: unknown, command?: Command) {
    super(`exit ${exitCode}`, cause === undefined ? undefined : { cause })
    this.exitCode = exitCode
    this.command = command
  }
}

/** The exit code of a failed verb, and of `run` and `exec` if Holt itself failed. */
const failedExitCode = 1
export const holtFailedExitCode = 125

/** Lets a verb return its exit code, and turns its errors into one. */
export function act<Args extends unknown[]>(
  command: Command,
  verb: (...args: Args) => Promise<number | undefined>,
  { failure = failedExitCode }: { failure?: number | ((error: unknown) => number) } = {},
): Command {
  return command.action(async (...args) => {
    let exitCode: number | undefined
    try {
      exitCode = await verb(...(args as Args))
    } catch (error) {
      throw new ExitStatus(typeof failure === 'number' ? failure : failure(error), error, command)
    }
    if (exitCode !== undefined && exitCode !== 0) throw new ExitStatus(exitCode)
  })
}
