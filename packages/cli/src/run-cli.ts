import { type Command, CommanderError } from 'commander'
import { warnOfSettings } from './daemon/warn-of-settings.ts'
import { reportError } from './errors/report-error.ts'
import { ignoreClosedPipes } from './output/print.ts'
import { buildProgram } from './program.ts'
import { inKnownNumber } from './usage/plurals.ts'
import { ExitStatus, UsageError } from './verb/verb.ts'

/** The exit code of a wrong command line. */
const usageExitCode = 2

/** Runs one command line and returns the exit code. */
export async function runCli(given: readonly string[]): Promise<number> {
  ignoreClosedPipes()
  const args = inKnownNumber(given)
  const program = await buildProgram(args)
  // A shell that completes a word displays any message beside it.
  if (args[0] !== '__complete') await warnOfSettings()
  try {
    await program.parseAsync([...args], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof ExitStatus) {
      if (error.cause !== undefined) {
        const { explainForeign } = await import('./daemon/foreign-service.ts')
        reportError(await explainForeign(error.cause), error.command)
      }
      return error.cause instanceof UsageError ? usageExitCode : error.exitCode
    }
    if (error instanceof CommanderError) return endOf(error, { args, program })
    throw error
  }
}

/** Prints the fault of a command line. commander has already printed the help. */
async function endOf(
  error: CommanderError,
  refused: { readonly args: readonly string[]; readonly program: Command },
): Promise<number> {
  if (error.exitCode === 0) return 0
  if (error.message.startsWith('error:')) {
    const { explainUsage } = await import('./usage/explain-usage.ts')
    explainUsage(error, refused)
  }
  return usageExitCode
}
