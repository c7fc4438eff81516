import { type CommandHandle, type OutputItem, outputBytes } from '@holt/sdk'
import type { Command } from 'commander'
import { findCommand } from '../arguments/find-command.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connect.ts'
import { LastLines } from '../output/last-lines.ts'
import { print, say, writeBytes } from '../output/print.ts'
import { act, UsageError } from '../verb.ts'

const examples = `
Examples:
  holt logs mine                  the newest command's output
  holt logs mine cm4f… --follow   another one's, until it ends
  holt logs mine -n 20            its last 20 lines
  holt logs mine --json           its items, one JSON object per line`

interface LogsOptions {
  readonly follow?: boolean
  readonly tail?: number
  readonly json?: boolean
}

/** Adds `holt logs`: the output of a command. */
export function addLogs(program: Command): void {
  const command = program
    .command('logs')
    .description("show a command's output")
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('[command]', "a command's id, or the beginning of it (default: the newest)")
    .option('-f, --follow', 'stay until the command has ended')
    .option('-n, --tail <lines>', 'only so many of the last lines; with --follow also what comes', Number)
    .option('--json', "print the output's items, one JSON object per line")
    .addHelpText('after', examples)
  act(command, showOutput)
}

async function showOutput(text: string, commandText: string | undefined, options: LogsOptions): Promise<number> {
  const { follow = false, tail, json = false } = options
  if (tail !== undefined && !(Number.isSafeInteger(tail) && tail >= 0))
    throw new UsageError('--tail must be a number of lines')
  if (tail !== undefined && json) throw new UsageError('--tail is for lines: give one of --tail and --json')
  const runtime = await findRuntime(connect(), text)
  const command = await findCommand(runtime, commandText)
  const cursor = tail === undefined ? 0 : await showLast(command, tail)
  if (tail !== undefined && !follow) return 0
  for await (const item of command.output({ follow, cursor })) {
    if (json) print(JSON.stringify(item))
    else await show(item)
  }
  return 0
}

/** Shows the last lines that there are, and returns the cursor behind them. */
async function showLast(command: CommandHandle, tail: number): Promise<number> {
  const lines = new LastLines(tail)
  let cursor = 0
  for await (const item of command.output({ follow: false })) {
    cursor = item.cursor
    if (item.type === 'stdout' || item.type === 'stderr')
      lines.add({ stream: process[item.type], bytes: outputBytes(item) })
  }
  for (const { stream, bytes } of lines.take()) await writeBytes(stream, bytes)
  return cursor
}

async function show(item: OutputItem): Promise<void> {
  if (item.type === 'stdout' || item.type === 'stderr') await writeBytes(process[item.type], outputBytes(item))
  else if (item.type === 'dropped') say(`holt: ${item.dropped_bytes} bytes are no longer kept`)
}
