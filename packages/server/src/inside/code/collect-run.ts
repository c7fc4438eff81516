import type { CodeError, CodeResult } from '@holt/protocol'
import { OutputHead } from '../commands/output-head.ts'
import { KeptResults } from './kept-results.ts'
import { presentEnd } from './present-code.ts'
import type { ReadItem } from './read-bridge-items.ts'

/** A run that has ended, without its ids. */
export type CollectedRun = Omit<CodeResult, 'run_id' | 'context_id'> & { readonly contextId: string | null }

/** The limits on the kept output and results of a run. */
interface Bounds {
  /** The maximum number of bytes of each of stdout and stderr. */
  readonly maxOutputBytes: number
  /** The maximum number of bytes of all results, as JSON. */
  readonly maxResultBytes: number
  /** Returns true if so many more bytes may be kept. */
  readonly keep: (bytes: number) => boolean
}

/**
 * Reads a run to its end. Keeps the beginning of stdout and stderr, and the results that fit. The
 * items end with `end`, or the iteration throws.
 */
export async function collectRun(
  items: AsyncIterable<ReadItem>,
  { maxOutputBytes, maxResultBytes, keep }: Bounds,
): Promise<CollectedRun> {
  const output = {
    stdout: new OutputHead({ maxOutputBytes, keep }),
    stderr: new OutputHead({ maxOutputBytes, keep }),
  }
  const results = new KeptResults({ maxBytes: maxResultBytes, keep })
  let contextId: string | null = null
  let error: CodeError | null = null
  let isLossy = false
  for await (const item of items) {
    if (item.type === 'start') contextId = item.context_id
    else if (item.type === 'stdout' || item.type === 'stderr') {
      results.outputCame()
      output[item.type].add(Buffer.from(item.text, 'utf8'))
    } else if (item.type === 'clear_output') results.clear(item.wait ?? false)
    else if (item.type === 'error') error = { name: item.name, value: item.value, traceback: item.traceback }
    else if (item.type === 'dropped') isLossy = true
    else if (item.type === 'unread') results.miss()
    else if (item.type === 'end') {
      const [stdout, stderr] = [output.stdout.gathered(), output.stderr.gathered()]
      const missing = isLossy || item.truncated === true
      return {
        contextId,
        ...presentEnd(item),
        stdout: stdout.text,
        stderr: stderr.text,
        results: results.list(),
        error,
        truncated: {
          stdout: missing || stdout.truncated,
          stderr: missing || stderr.truncated,
          results: missing || results.truncated,
        },
      }
    } else if ('data' in item) results.show(item)
  }
  throw new Error('the items of a run ended without an end')
}
