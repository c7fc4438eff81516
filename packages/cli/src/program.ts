import type { Command } from 'commander'
import { emptyProgram } from './empty-program.ts'
import { loadVerb } from './verbs.ts'

/**
 * Returns the program for a command line: with its one verb or, if it names none, with the outlines
 * of all.
 */
export async function buildProgram(args: readonly string[]): Promise<Command> {
  const [first, second] = args
  const program = emptyProgram()
  const addVerb = await loadVerb(first === '--' ? second : first)
  // Without `--` among the arguments, run and exec take options only before the command.
  if (addVerb !== null) addVerb(program, !args.includes('--'))
  else await addOutlines(program)
  // The hidden verb completes the words of every verb.
  if (first === '__complete') (await import('./commands/complete.ts')).addComplete(program)
  return program
}

/** Adds the help, completion and suggestions of every verb. */
async function addOutlines(program: Command): Promise<void> {
  const [{ addOutlined }, { verbOutlines }] = await Promise.all([
    import('./outline/command-of.ts'),
    import('./verb-outlines.ts'),
  ])
  for (const outline of verbOutlines) addOutlined(program, outline)
}
