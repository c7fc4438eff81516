import type { Command, OutputItem } from '@holt/protocol'
import { outputBytes } from '@holt/sdk'
import { z } from 'zod'
import { OutputPart } from '../results/output-part.ts'
import { jsonResult, textResult, withoutStyles } from '../results/results.ts'
import { CommandReport, endWords } from './command-report.ts'
import { deniedHosts } from './denied-hosts.ts'
import { readsOnly, runtimeTool, type Tool } from './tool.ts'

/** The maximum number of bytes of one answer of `read_output`. */
const maxReadBytes = 16 * 1024

/** The longest wait of `read_output`, in seconds. Many clients wait for a minute at most. */
const maxWaitSecs = 50

const commandId = z.string().min(1).max(32).describe('The command_id that run_command returned.')

const run = runtimeTool({
  name: 'run_command',
  title: 'Run a command',
  description:
    'Runs a shell command line in a runtime and returns its exit code and output. Of long output the beginning and the end are returned; read_output returns the rest. Directory and variables do not carry over to the next command. Use background for servers.',
  routes: ['getRuntime', 'startCommand', 'readOutput', 'getCommand', 'killCommand', 'readNetworkLog'],
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  fields: {
    command: z.string().min(1).max(131_071).describe('A command line for /bin/sh -c.'),
    cwd: z.string().max(4096).optional().describe('The working directory. Default: that of the template.'),
    env: z.record(z.string(), z.string()).optional().describe('Environment variables of this command.'),
    user: z.string().max(64).optional().describe('The user, such as root. Default: that of the template.'),
    stdin: z.string().max(1_048_576).optional().describe('Text for the standard input. Default: empty.'),
    timeout_secs: z
      .number()
      .min(1)
      .max(604_800)
      .optional()
      .describe('The time limit in seconds, after which the command is killed. Default 60; in the background none.'),
    background: z
      .boolean()
      .default(false)
      .describe('True: return the command_id at once. Read the output with read_output. Default false.'),
  },
  run: async ({ command, background, ...options }, { runtime, signal, tellProgress }) => {
    const how = options
    if (background) return jsonResult(startedFacts(await runtime.commands.start(command, { ...how, signal })))
    using report = new CommandReport((message) => tellProgress(message))
    let ended: Command | undefined
    for await (const item of runtime.commands.stream(command, { ...how, signal })) {
      report.take(item)
      if (item.type === 'exit') ended = item.command
    }
    ended ??= (await runtime.commands.get(report.commandId, { signal })).toJSON()
    report.end(ended)
    const failed = ended.exit_code !== 0
    return report.result(ended, failed ? await deniedHosts(runtime, ended.started_at, signal) : '')
  },
})

const read = runtimeTool({
  name: 'read_output',
  title: 'Read the output of a command',
  description:
    'Reads the output of a command, running or ended, after a cursor. Stdout and stderr are mixed in the order in which they were written. A runtime keeps the last MiB of each command.',
  routes: ['getRuntime', 'getCommand', 'readOutput'],
  annotations: readsOnly,
  fields: {
    command_id: commandId,
    cursor: z.number().int().min(0).default(0).describe('Output after this cursor. Default 0: from the beginning.'),
    wait_secs: z
      .number()
      .min(0)
      .max(maxWaitSecs)
      .default(0)
      .describe('The seconds to wait until the command ends or has enough output. Default 0.'),
  },
  run: async ({ command_id, cursor, wait_secs }, { runtime, signal }) => {
    const command = await runtime.commands.get(command_id, { signal })
    const time = wait_secs === 0 ? null : AbortSignal.timeout(wait_secs * 1000)
    const ends = time === null ? signal : AbortSignal.any([signal, time])
    const part = new CommandPart(cursor)
    try {
      for await (const item of command.output({ cursor, follow: time !== null, signal: ends }))
        if (!part.take(item)) break
    } catch (error) {
      // The end of the wait is no failure. The output until then is the answer.
      if (time?.aborted !== true || signal.aborted) throw error
    }
    await command.refresh({ signal })
    return textResult(part.text, part.note(command))
  },
})

const stop = runtimeTool({
  name: 'stop_command',
  title: 'Stop a command',
  description: 'Kills a command and all processes that it started.',
  routes: ['getRuntime', 'getCommand', 'killCommand'],
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  fields: { command_id: commandId },
  run: async ({ command_id }, { runtime, signal }) => {
    const command = await runtime.commands.get(command_id, { signal })
    await command.kill({ signal })
    return textResult(`Stopped ${command_id}: ${endWords(command)}.`)
  },
})

/** The tools of commands. */
export const commandTools: readonly Tool[] = [run, read, stop]

function startedFacts({ command_id, pid, state }: Command) {
  return { command_id, pid, state, hint: 'Read its output with read_output, and end it with stop_command.' }
}

/** A part of a command's output, both streams together. */
class CommandPart {
  readonly #part: OutputPart
  #droppedBytes = 0

  constructor(cursor: number) {
    this.#part = new OutputPart(cursor, maxReadBytes)
  }

  /** Takes an item. Returns false when the part is full. */
  take(item: OutputItem): boolean {
    if (item.type === 'dropped') {
      this.#droppedBytes += item.dropped_bytes
      this.#part.skipTo(item.cursor)
    }
    if (item.type !== 'stdout' && item.type !== 'stderr') return true
    const bytes = outputBytes(item)
    return this.#part.add(bytes, item.cursor - bytes.length)
  }

  get text(): string {
    return withoutStyles(this.#part.text)
  }

  /** Returns the state of the command, and how to read on. */
  note(command: Command): string {
    const { cursor } = this.#part
    const lost = this.#droppedBytes === 0 ? '' : ` ${this.#droppedBytes} bytes before it are no longer kept.`
    const written = command.stdout_bytes + command.stderr_bytes
    const rest =
      cursor < written || command.state === 'running'
        ? ` Read on with cursor ${cursor}; ${written} bytes are written.`
        : ' This is the end of its output.'
    return `[${endWords(command)}.${lost}${rest}]`
  }
}
