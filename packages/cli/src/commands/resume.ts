import type { Command } from 'commander'
import { doToEach } from '../arguments/do-to-each.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import { labelOf, nextOf } from '../output/describe-runtime.ts'
import { whileWaiting } from '../output/while-waiting.ts'
import { act } from '../verb/verb.ts'

const examples = `
The runtime continues under the same id, and its deadline starts again.

Examples:
  holt resume mine
  holt resume $(holt ls -q --state paused)`

/** Adds `holt resume`. */
export function addResume(program: Command): void {
  const command = program
    .command('resume')
    .description('resume paused runtimes')
    .argument('<runtime...>', 'ids, beginnings of ids, or names')
    .option('--json', 'print the runtimes as JSON')
    .addHelpText('after', examples)
  act(command, (texts: string[], options: { json?: boolean }) =>
    doToEach(texts, options, async (text) => {
      const runtime = await findRuntime(connect(), text)
      await whileWaiting(`Resuming ${text}`, () => runtime.resume())
      const next = nextOf(runtime)
      return { told: `Running ${labelOf(runtime)}${next === '' ? '' : `, ${next}`}`, object: runtime }
    }),
  )
}
