import { isSignalName } from '@holt/protocol'
import type { SendSignalInput } from '@holt/sdk'
import { type Command, InvalidArgumentError } from 'commander'
import { findCommand } from '../arguments/find-command.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import { printJson } from '../output/print.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt kill mine cm4f…            kill every process of the command
  holt kill -s TERM mine cm4f…    send a signal to its process group`

/** Adds `holt kill`, which ends a command or sends it a signal. */
export function addKill(program: Command): void {
  const command = program
    .command('kill')
    .description('kill every process of a command, or send it a signal')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('<command>', "the command's id, or the beginning of it")
    .option('-s, --signal <name>', 'send this signal to its process group instead: TERM, SIGHUP, RTMIN+1', signalName)
    .option('--json', 'print the command as JSON')
    .addHelpText('after', examples)
  act(command, async (text: string, id: string, options: { signal?: SendSignalInput['signal']; json?: boolean }) => {
    const one = await findCommand(await findRuntime(connect(), text), id)
    if (options.signal === undefined) await one.kill()
    else await one.sendSignal(options.signal)
    if (options.json === true) printJson(one)
    return 0
  })
}

function signalName(text: string): SendSignalInput['signal'] {
  const upper = text.toUpperCase()
  const name = upper.startsWith('SIG') ? upper : `SIG${upper}`
  if (!isSignalName(name)) throw new InvalidArgumentError('It must be the name of a signal.')
  return name
}
