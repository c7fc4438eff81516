import type { Command } from 'commander'
import { doToEach } from '../arguments/do-to-each.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connect.ts'
import { labelOf } from '../output/runtime-words.ts'
import { act } from '../verb.ts'

const examples = `
Examples:
  holt rm mine
  holt rm $(holt ls -q)`

/** Adds `holt rm`: delete runtimes. */
export function addRm(program: Command): void {
  const command = program
    .command('rm')
    .description('delete runtimes')
    .argument('<runtime...>', 'ids, beginnings of ids, or names')
    .option('--json', 'print the deleted runtimes as JSON')
    .addHelpText('after', examples)
  act(command, (texts: string[], options: { json?: boolean }) =>
    doToEach(texts, options, async (text) => {
      const runtime = await findRuntime(connect(), text)
      await runtime.delete()
      if (options.json === true) await runtime.refresh()
      return { told: `Deleted ${labelOf(runtime)}`, object: runtime }
    }),
  )
}
