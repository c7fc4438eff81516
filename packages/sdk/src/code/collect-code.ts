import {
  type CodeError,
  type CodeItem,
  type CodeOutput,
  type CodeResult,
  defaultResultBytes,
  resultOutputBytes,
} from '@holt/protocol'
import { type OutputLimit, type OutputListener, StreamText } from '../content/output.ts'
import { HoltConnectionError } from '../errors/errors.ts'

/** The listeners of a run, and the limits of its result. */
export interface CollectCodeOptions extends OutputListener, OutputLimit {
  readonly onResult?: ((result: CodeOutput) => void) | undefined
  /** The maximum number of bytes of all results, as JSON. Default: 8 MiB. */
  readonly max_result_bytes?: number | undefined
}

type Shown = Extract<CodeItem, { readonly data: unknown }>
type Start = Extract<CodeItem, { readonly type: 'start' }>

/**
 * Reads a run's items to the end. Keeps the beginning of each stream and the results that fit, and
 * passes everything to listeners. If a listener throws, reading ends with its error.
 */
export async function collectCode(
  items: AsyncIterable<CodeItem>,
  {
    onStdout,
    onStderr,
    onResult,
    max_output_bytes: maxBytes = resultOutputBytes,
    max_result_bytes,
  }: CollectCodeOptions,
): Promise<CodeResult> {
  const encoder = new TextEncoder()
  const output = { stdout: new StreamText(onStdout, maxBytes), stderr: new StreamText(onStderr, maxBytes) }
  const results = new CollectedResults(max_result_bytes ?? defaultResultBytes)
  let start: Start | undefined
  let error: CodeError | null = null
  let isLossy = false
  for await (const item of items) {
    if (item.type === 'start') start = item
    else if (item.type === 'stdout' || item.type === 'stderr') {
      results.outputCame()
      output[item.type].add(encoder.encode(item.text))
    } else if (item.type === 'clear_output') results.clear(item.wait)
    else if (item.type === 'error') error = { name: item.name, value: item.value, traceback: item.traceback }
    else if (item.type === 'dropped') isLossy = true
    else if ('data' in item) {
      results.show(item)
      onResult?.(outputOf(item))
    } else if (item.type === 'end' && start !== undefined) {
      output.stdout.end()
      output.stderr.end()
      const { type: _, cursor: __, truncated, ...end } = item
      const missing = isLossy || truncated
      return {
        run_id: start.run_id,
        context_id: start.context_id,
        ...end,
        stdout: output.stdout.text,
        stderr: output.stderr.text,
        results: results.list,
        error,
        truncated: {
          stdout: missing || output.stdout.truncated,
          stderr: missing || output.stderr.truncated,
          results: missing || results.truncated,
        },
      }
    }
  }
  throw new HoltConnectionError('lost', 'The service ended the stream before the run')
}

function outputOf({ data, metadata, main }: Shown): CodeOutput {
  return { data, metadata, main }
}

/** The results of a run as a notebook shows them at its end, as far as they fit. */
class CollectedResults {
  truncated = false
  readonly #maxBytes: number
  #kept: { readonly id: string | undefined; readonly output: CodeOutput; readonly bytes: number }[] = []
  #isCleared = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get list(): CodeOutput[] {
    return this.#kept.map(({ output }) => output)
  }

  /** Adds a value, or replaces the value of the display that it updates. */
  show(item: Shown): void {
    this.outputCame()
    const { type, display_id: id } = item
    if (type !== 'update_display') this.#kept.push({ id, ...this.#fitting(item, this.#kept) })
    else if (id !== undefined)
      this.#kept.forEach((one, at) => {
        if (one.id === id) this.#kept[at] = { id, ...this.#fitting(item, this.#kept.toSpliced(at, 1)) }
      })
  }

  clear(waits: boolean): void {
    this.#isCleared = waits
    if (!waits) this.#kept = []
  }

  outputCame(): void {
    if (this.#isCleared) this.clear(false)
  }

  /** Returns a value without the forms that do not fit. The smallest forms are kept first. */
  #fitting(item: Shown, others: readonly { readonly bytes: number }[]): { output: CodeOutput; bytes: number } {
    const { data, metadata, main } = outputOf(item)
    const used = others.reduce((sum, { bytes }) => sum + bytes, 0)
    let bytes = 0
    const take = (wanted: number) => {
      const fits = used + bytes + wanted <= this.#maxBytes
      if (fits) bytes += wanted
      else this.truncated = true
      return fits
    }
    const forms = Object.entries(data)
      .map(([mime, form]) => ({ mime, form, size: sizeOf(form) }))
      .sort((a, b) => a.size - b.size)
      // Two braces and a colon are around the name and the form.
      .filter(({ mime, size }) => take(sizeOf(mime) + size + 3))
    const fitting = Object.fromEntries(forms.map(({ mime, form }) => [mime, form]))
    return { output: { data: fitting, metadata: take(sizeOf(metadata)) ? metadata : {}, main }, bytes }
  }
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length
}
