import type { Command, OutputItem } from '@holt/protocol'
import { outputBytes } from '@holt/sdk'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { Excerpt, type LeftOut } from '../results/excerpt.ts'
import { grouped, shortened, textResult } from '../results/results.ts'

/** The parts of each stream that a result has. A failure is usually told at the end. */
const sizes = {
  stdout: { headBytes: 4 * 1024, tailBytes: 8 * 1024 },
  stderr: { headBytes: 2 * 1024, tailBytes: 6 * 1024 },
}

/** The least time between two reports of progress, in milliseconds. */
const progressMs = 500

/** The most characters of a line in a report of progress. */
const maxLineLength = 200

/** The report on a command for a model: how it ended, and the excerpts of its output. */
export class CommandReport {
  commandId = ''
  readonly #stdout = new Excerpt(sizes.stdout)
  readonly #stderr = new Excerpt(sizes.stderr)
  readonly #tell: (message: string) => void
  #toldAt = Number.NEGATIVE_INFINITY

  /** `tell` is called with the last line of the output now and then. */
  constructor(tell: (message: string) => void) {
    this.#tell = tell
  }

  take(item: OutputItem): void {
    if (item.type === 'start') this.commandId = item.command_id
    if (item.type !== 'stdout' && item.type !== 'stderr') return
    const bytes = outputBytes(item)
    const excerpt = item.type === 'stdout' ? this.#stdout : this.#stderr
    excerpt.add(bytes, item.cursor - bytes.length)
    const now = performance.now()
    if (now - this.#toldAt < progressMs) return
    this.#toldAt = now
    this.#tell(lastLineOf(bytes))
  }

  /** Returns the result of the ended command. `advice` is added if it is not empty. */
  result(command: Command, advice: string): CallToolResult {
    const streams = [
      { name: 'stdout', excerpt: this.#stdout },
      { name: 'stderr', excerpt: this.#stderr },
    ]
    const texts = streams.map(({ name, excerpt }) =>
      excerpt.bytes === 0 ? '' : `--- ${name} ---\n${excerpt.text((leftOut) => this.#note(leftOut))}`,
    )
    const nothing = streams.every(({ excerpt }) => excerpt.bytes === 0) ? ' It wrote nothing.' : ''
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

function lastLineOf(bytes: Uint8Array): string {
  const end = new TextDecoder().decode(bytes.subarray(-4 * maxLineLength)).trimEnd()
  return shortened(end.slice(end.lastIndexOf('\n') + 1), maxLineLength)
}
