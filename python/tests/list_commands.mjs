// Prints the commands of `holt` with the flags of their options, as JSON.
import { buildWholeProgram } from '../../packages/cli/src/whole-program.ts'

const found = {}
const visit = (command, name) => {
  found[name] = command.options.flatMap(({ short, long }) => [short, long].filter(Boolean))
  for (const one of command.commands) visit(one, `${name} ${one.name()}`)
}
visit(await buildWholeProgram(), 'holt')
process.stdout.write(JSON.stringify(found))
