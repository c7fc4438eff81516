import type { Command } from 'commander'
import { doToEach } from '../arguments/do-to-each.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import { labelOf } from '../output/describe-runtime.ts'
import { whileWaiting } from '../output/while-waiting.ts'
import { act } from '../verb/verb.ts'

const examples = `
Programs inside stop until the resume, and keep their whole state. Memory, processors and sockets are released. The next command, file or visit
resumes the runtime, unless it was made with --no-auto-resume.

Examples:
  holt pause mine
  holt pause $(holt ls -q --state running)
  holt set mine --idle-timeout 10m      pauses by itself after this time without use`

/** Adds `holt pause`. */
export function addPause(program: Command): void {
  const command = program
    .command('pause')
    .description('pause runtimes: processes, memory and files are kept')
    .argument('<runtime...>', 'ids, beginnings of ids, or names')
    .option('--json', 'print the paused runtimes as JSON')
    .addHelpText('after', examples)
  act(command, (texts: string[], options: { json?: boolean }) =>
    doToEach(texts, options, async (text) => {
      const runtime = await findRuntime(connect(), text)
      await whileWaiting(`Pausing ${text}`, () => runtime.pause())
      return { told: `Paused ${labelOf(runtime)}`, object: runtime }
    }),
  )
}
