import { CommanderError } from 'commander'
import { ignoreClosedPipes } from './output/print.ts'
import { reportError } from './output/report-error.ts'
import { buildProgram } from './program.ts'
import { ExitStatus, UsageError } from './verb.ts'

/** The exit code of a command line that is wrong. */
const usageExitCode = 2

/** Runs one command line and answers the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  ignoreClosedPipes()
  try {
    const program = await buildProgram(args)
    await program.parseAsync([...args], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof ExitStatus) {
      if (error.cause !== undefined) reportError(error.cause, error.command)
      return error.cause instanceof UsageError ? usageExitCode : error.exitCode
    }
    // Commander has printed the help or what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageExitCode
    throw error
  }
}
