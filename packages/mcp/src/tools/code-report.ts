import type { CodeItem, CodeResult } from '@holt/protocol'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { codeValues } from '../results/code-values.ts'
import { Excerpt, type LeftOut } from '../results/excerpt.ts'
import { OutputExcerpts } from '../results/output-excerpts.ts'
import { grouped, shortened, textResult, withoutStyles } from '../results/results.ts'
import { codeCursor } from './code-cursor.ts'

/** The parts of each stream that a result has. */
const sizes = {
  stdout: { headBytes: 4 * 1024, tailBytes: 8 * 1024 },
  stderr: { headBytes: 2 * 1024, tailBytes: 4 * 1024 },
}

/** The part of a traceback that a result has. The first and the last calls tell the most. */
const errorSize = { headBytes: 2 * 1024, tailBytes: 6 * 1024 }

/** The maximum number of characters of the name and the message of an error. */
const maxErrorLength = 2000

/** The report on a run of code for a model: its end, excerpts of its output, and its values. */
export class CodeReport implements Disposable {
  readonly #output: OutputExcerpts
  readonly #tell: (message: string) => void

  /** `tell` is called with the last line of the output now and then, and with the end. */
  constructor(tell: (message: string) => void) {
    this.#tell = tell
    this.#output = new OutputExcerpts(sizes, tell)
  }

  /** Passes the items of a run on, and keeps excerpts of the output. */
  async *watch(items: AsyncIterable<CodeItem>): AsyncGenerator<CodeItem, void, undefined> {
    for await (const item of items) {
      if (item.type === 'queued') this.#tell('The code waits for earlier code of its context.')
      if (item.type === 'stdout' || item.type === 'stderr')
        this.#output.add(item.type, new TextEncoder().encode(item.text), codeCursor(item.cursor, 0))
      yield item
    }
  }

  /** Returns the result of the run. Reports the last line of the output, and the end. */
  result(run: CodeResult): CallToolResult {
    this.#output.report()
    this.#tell(endOfCode(run))
    const { context_id, execution_count, run_id, state_lost } = run
    const facts = `context_id: ${context_id}, execution_count: ${execution_count ?? 'not known'}, run_id: ${run_id}`
    const lost = state_lost ? ' The variables of earlier code are lost.' : ''
    const streams = this.#output.texts((leftOut) => this.#note(run_id, leftOut))
    const values = codeValues(run.results, run.truncated.results)
    const { content } = textResult(`${endOfCode(run)}.${lost} ${facts}`, ...streams, errorOf(run))
    return { content: [...content, ...values] }
  }

  [Symbol.dispose](): void {
    this.#output[Symbol.dispose]()
  }

  #note(runId: string, { bytes, cursor }: LeftOut): string {
    return `[… ${grouped(bytes)} bytes left out. read_code_output with run_id ${runId} and cursor ${cursor} returns them …]`
  }
}

const ends: Readonly<Record<CodeResult['status'], string>> = {
  ok: 'The code ended',
  error: 'The code raised an error',
  timed_out: 'The code was interrupted at its time limit',
  interrupted: 'The code was interrupted',
  kernel_died: 'The process of the context ended',
  out_of_memory: 'The process of the context was killed, because the runtime ran out of memory',
}

/** Returns how a run ended in words, without a period. */
function endOfCode({ status, duration_ms }: CodeResult): string {
  return `${ends[status]} after ${(duration_ms / 1000).toFixed(1)} s`
}

/** Returns the error of a run and its traceback, without colours. Empty if there is none. */
function errorOf({ error }: CodeResult): string {
  if (error === null) return ''
  const traceback = new Excerpt(errorSize)
  traceback.add(new TextEncoder().encode(withoutStyles(error.traceback.join('\n'))), 0)
  const name = shortened(withoutStyles(`${error.name}: ${error.value}`), maxErrorLength)
  return `--- error ---\n${name}\n${traceback.text(({ bytes }) => `[… ${grouped(bytes)} bytes of the traceback left out …]`)}`
}
