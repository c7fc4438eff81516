import type { Command } from 'commander'
import { emptyProgram } from './empty-program.ts'
import { verbGroups } from './verbs.ts'

/** Returns the program with every verb, which loads the code of all. */
export async function buildWholeProgram(): Promise<Command> {
  const program = emptyProgram()
  for (const [title, verbs] of Object.entries(verbGroups)) {
    program.commandsGroup(title)
    for (const load of Object.values(verbs)) (await load())(program, true)
  }
  return program
}
