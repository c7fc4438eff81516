import { type Command, InvalidArgumentError } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { parseRemote } from '../arguments/location.ts'
import { connect } from '../connection/connect.ts'
import { printJson, say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { act } from '../verb/verb.ts'

const examples = `
If OLD does not occur exactly that often, nothing changes.

Examples:
  holt edit mine:/workspace/settings.py 'DEBUG = True' 'DEBUG = False'
  holt edit --count 3 mine:/workspace/names.txt colour color
  holt edit mine:/workspace/main.py "$(cat old.txt)" "$(cat new.txt)"`

/** Adds `holt edit`, which replaces an exact text in a file of a runtime. */
export function addEdit(program: Command): void {
  const command = program
    .command('edit')
    .description('replace an exact text in a file of a runtime')
    .argument('<location>', 'RUNTIME:/PATH of a text file')
    .argument('<old>', 'the text to replace')
    .argument('<new>', 'the new text')
    .option('--count <count>', 'the number of times that OLD must occur (default: 1)', times)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples)
  act(command, async (text: string, old: string, by: string, options: { count?: number; json?: boolean }) => {
    const { runtime: name, path } = parseRemote(text)
    const runtime = await findRuntime(connect(), name)
    const edited = await runtime.files.edit(path, old, by, { expected_count: options.count ?? 1 })
    if (options.json === true) printJson(edited)
    else say(`Edited ${printable(path)}: ${edited.total_count} ${edited.total_count === 1 ? 'place' : 'places'}`)
    return 0
  })
}

function times(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 999999.')
  return Number(text)
}
