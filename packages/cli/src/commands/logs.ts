import { type CommandHandle, type OutputItem, outputBytes } from '@holt/sdk'
import type { Command } from 'commander'
import { findCommand } from '../arguments/find-command.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { addLogOptions, type LogOptions, requireTail } from '../arguments/log-options.ts'
import { momentOf } from '../arguments/moment.ts'
import { connect } from '../connection/connect.ts'
import { LastLines } from '../output/last-lines.ts'
import { print, say, writeBytes } from '../output/print.ts'
import { TimedLines } from '../output/timed-lines.ts'
import { act, UsageError } from '../verb/verb.ts'

const examples = `
Examples:
  holt logs mine                  the newest command's output
  holt logs mine cm4f… --follow   another one's, until it ends
  holt logs mine -n 20            its last 20 lines
  holt logs mine -t --since 10m   the lines of the last ten minutes, with their times
  holt logs mine --json           its items, one JSON object per line`

interface LogsOptions extends LogOptions {
  readonly timestamps?: boolean
  readonly json?: boolean
}

/** Adds `holt logs`, which shows the output of a command. */
export function addLogs(program: Command): void {
  const shown = program
    .command('logs')
    .description("show a command's output")
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('[command]', "a command's id, or the beginning of it (default: the newest)")
  const command = addLogOptions(shown, 'the command has ended')
    .option('-t, --timestamps', 'put the time before each line')
    .option('--json', "print the output's items, one JSON object per line")
    .addHelpText('after', examples)
  act(command, showOutput)
}

async function showOutput(text: string, commandText: string | undefined, options: LogsOptions): Promise<number> {
  const { follow = false, tail, json = false } = options
  requireTail(tail)
  if (tail !== undefined && json) throw new UsageError('--tail is for lines: give one of --tail and --json')
  const selection = new Selection(options)
  const runtime = await findRuntime(connect(), text)
  const command = await findCommand(runtime, commandText)
  const cursor = tail === undefined ? 0 : await showLast(command, { tail, selection })
  if (tail !== undefined && !follow) return 0
  for await (const item of command.output({ follow, cursor })) {
    if (!selection.has(item)) continue
    if (json) print(JSON.stringify(item))
    else if (isOutput(item)) await writeBytes(process[item.type], selection.bytesOf(item))
    else if (item.type === 'dropped') say(`holt: ${item.dropped_bytes} bytes are no longer kept`)
  }
  return 0
}

/** Prints the last lines, and returns the cursor after them. */
async function showLast(
  command: CommandHandle,
  { tail, selection }: { readonly tail: number; readonly selection: Selection },
): Promise<number> {
  const lines = new LastLines(tail)
  let cursor = 0
  for await (const item of command.output({ follow: false })) {
    cursor = item.cursor
    if (isOutput(item) && selection.has(item)) lines.add({ stream: process[item.type], bytes: selection.bytesOf(item) })
  }
  for (const { stream, bytes } of lines.take()) await writeBytes(stream, bytes)
  return cursor
}

type Output = Extract<OutputItem, { readonly data: string }>

function isOutput(item: OutputItem): item is Output {
  return item.type === 'stdout' || item.type === 'stderr'
}

/** The items of the output to show, and their form. */
class Selection {
  readonly #sinceMs: number | null
  readonly #lines: TimedLines | null

  constructor({ since, timestamps = false }: LogsOptions) {
    const moment = momentOf('--since', since, 'ago')
    this.#sinceMs = moment === undefined ? null : Date.parse(moment)
    this.#lines = timestamps ? new TimedLines() : null
  }

  /** Returns false for output that is older than requested. */
  has(item: OutputItem): boolean {
    return this.#sinceMs === null || !isOutput(item) || Date.parse(timeOf(item)) >= this.#sinceMs
  }

  bytesOf(item: Output): Uint8Array {
    const bytes = outputBytes(item)
    return this.#lines === null ? bytes : this.#lines.add(item.type, bytes, timeOf(item))
  }
}

/** Returns the time at which output was read. Throws if it is unknown. */
function timeOf({ at }: Output): string {
  if (at !== undefined) return at
  throw new Error(
    'An older version of Holt made this runtime, and it records no times of output. Leave --timestamps and --since out',
  )
}
