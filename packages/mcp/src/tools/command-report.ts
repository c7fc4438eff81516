import type { Command, OutputItem } from '@holt/protocol'
import { outputBytes } from '@holt/sdk'
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { LeftOut } from '../results/excerpt.ts'
import { OutputExcerpts } from '../results/output-excerpts.ts'
import { grouped, textResult } from '../results/results.ts'

/** The parts of each stream that a result has. A failure is usually told at the end. */
const sizes = {
  stdout: { headBytes: 4 * 1024, tailBytes: 8 * 1024 },
  stderr: { headBytes: 2 * 1024, tailBytes: 6 * 1024 },
}

/** The report on a command for a model: how it ended, and the excerpts of its output. */
export class CommandReport implements Disposable {
  commandId = ''
  readonly #output: OutputExcerpts
  readonly #tell: (message: string) => void

  /** `tell` is called with the last line of the output now and then, and with the end. */
  constructor(tell: (message: string) => void) {
    this.#tell = tell
    this.#output = new OutputExcerpts(sizes, tell)
  }

  take(item: OutputItem): void {
    if (item.type === 'start') this.commandId = item.command_id
    if (item.type !== 'stdout' && item.type !== 'stderr') return
    const bytes = outputBytes(item)
    this.#output.add(item.type, bytes, item.cursor - bytes.length)
  }

  /** Reports the last line of the output, and how the command ended. */
  end(command: Command): void {
    this.#output.report()
    this.#tell(endWords(command))
  }

  [Symbol.dispose](): void {
    this.#output[Symbol.dispose]()
  }

  /** Returns the result of the ended command. `advice` is added if it is not empty. */
  result(command: Command, advice: string): CallToolResult {
    const texts = this.#output.texts((leftOut) => this.#note(leftOut))
    const nothing = this.#output.isEmpty ? ' It wrote nothing.' : ''
    return textResult(`${endWords(command)}.${nothing} command_id: ${this.commandId}`, ...texts, advice)
  }

  #note({ bytes, cursor }: LeftOut): string {
    return `[… ${grouped(bytes)} bytes left out. read_output with command_id ${this.commandId} and cursor ${cursor} returns them …]`
  }
}

/** Returns the state of a command in words, without a period. */
export function endWords(command: Command): string {
  const { state, exit_code, signal, timed_out, oom_killed, duration_ms } = command
  if (state === 'running') return 'The command runs'
  const secs = duration_ms === null ? '' : ` after ${(duration_ms / 1000).toFixed(1)} s`
  if (timed_out) return `The command was killed at its time limit${secs}`
  if (oom_killed) return `The runtime ran out of memory, and a process of the command was killed${secs}`
  if (signal !== null) return `The command was ended by ${signal}${secs}`
  return exit_code === null ? `The command ended${secs}. Its exit code is not known` : `Exit code ${exit_code}${secs}`
}
