import { outputBytes } from '@holt/sdk'
import type { Command } from 'commander'
import { findCommand } from '../arguments/find-command.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connect.ts'
import { print, say, writeBytes } from '../output/print.ts'
import { act } from '../verb.ts'

const examples = `
Examples:
  holt logs mine                  the newest command's output
  holt logs mine cm4f… --follow   another one's, until it ends
  holt logs mine --json           its items, one JSON object per line`

/** Adds `holt logs`: the output of a command. */
export function addLogs(program: Command): void {
  const command = program
    .command('logs')
    .description("show a command's output")
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('[command]', "a command's id, or the beginning of it (default: the newest)")
    .option('-f, --follow', 'stay until the command has ended')
    .option('--json', "print the output's items, one JSON object per line")
    .addHelpText('after', examples)
  act(command, showOutput)
}

async function showOutput(
  text: string,
  commandText: string | undefined,
  options: { follow?: boolean; json?: boolean },
): Promise<number> {
  const runtime = await findRuntime(connect(), text)
  const command = await findCommand(runtime, commandText)
  for await (const item of command.output({ follow: options.follow ?? false })) {
    if (options.json === true) print(JSON.stringify(item))
    else if (item.type === 'stdout') await writeBytes(process.stdout, outputBytes(item))
    else if (item.type === 'stderr') await writeBytes(process.stderr, outputBytes(item))
    else if (item.type === 'dropped') say(`holt: ${item.dropped_bytes} bytes are no longer kept`)
  }
  return 0
}
