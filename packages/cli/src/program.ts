import { Command } from 'commander'
import { loadVerb, verbGroups } from './verbs.ts'
import { version } from './version.ts'

const environment = `
Environment:
  HOLT_URL, HOLT_API_KEY   where the service is, and the key; default: what \`holt up\` left in the state directory
  HOLT_STATE_DIR           the state directory (default /var/lib/holt)
  HOLT_PORT                where \`holt up\` has the service listen (default 4658); it takes all settings of the service, which the README lists
  NO_COLOR                 no colours

Exit codes: 0 success, 1 failure, 2 wrong usage. run, exec, shell and attach: the command's own, 124 timed out,
125 Holt itself failed, 126 the program cannot be executed, 127 it is not found.`

/** Makes the program that a command line needs: with its one verb, or where it names none with all. */
export async function buildProgram(args: readonly string[]): Promise<Command> {
  const [first, second] = args
  const addVerb = await loadVerb(first === '--' ? second : first)
  const program = addVerb === null ? await buildWholeProgram(args) : emptyProgram()
  addVerb?.(program, takesOptionsFirst(args))
  // It completes the words of every verb.
  if (first === '__complete') (await import('./commands/complete.ts')).addComplete(program)
  return program
}

/** Makes the program with every verb. */
export async function buildWholeProgram(args: readonly string[] = []): Promise<Command> {
  const program = emptyProgram()
  for (const [title, verbs] of Object.entries(verbGroups)) {
    program.commandsGroup(title)
    for (const load of Object.values(verbs)) (await load())(program, takesOptionsFirst(args))
  }
  return program
}

/** Without `--` among the arguments, run and exec take options only before the command. */
function takesOptionsFirst(args: readonly string[]): boolean {
  return !args.includes('--')
}

/** The program without its verbs. */
function emptyProgram(): Command {
  return new Command('holt')
    .description('Runs code that an agent wrote, safely, on your own machine.')
    .version(version, '-V, --version')
    .enablePositionalOptions()
    .showHelpAfterError('(add --help for the options and examples)')
    .exitOverride()
    .addHelpText('after', environment)
}
