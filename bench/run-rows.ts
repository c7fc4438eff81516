import { measureRows } from './rows/measure-rows.ts'
import type { Row } from './rows/row.ts'
import { rowsToRun } from './rows/rows.ts'
import { rowsByEnvironment } from './rows/rows-by-environment.ts'
import { parseOptions, type RunOptions } from './support/command-line.ts'
import { loadAverage } from './support/machine-facts.ts'
import type { RowFailure, RowReport } from './support/report.ts'
import { type Stage, withStage } from './support/stage.ts'
import { reasonOf } from './support/subject.ts'
import { rowText } from './support/table.ts'

type StageOf = (signal: AbortSignal) => Stage

/** The exit code that a shell reports for a program ended by SIGINT. */
const interruptedCode = 130
/** The longest time of a row. The slowest one takes six minutes on two quiet processors. */
const rowLimitMs = 15 * 60_000

/** The result of a row: what was measured, or why nothing was. */
export type RowResult = RowReport | RowFailure

/**
 * Runs rows, and shares a stage between rows that need the same daemon. Writes one JSON line for
 * each row to stdout, and a table to stderr. Calls `onResult` as soon as a row ends. If a row fails
 * or takes too long, it continues with the others on a new stage, and sets the exit code 1. If
 * interrupted, it removes what it has made before it ends.
 */
export async function runRows(
  ids: readonly string[] | 'all',
  argv: readonly string[],
  onResult: (result: RowResult) => Promise<void> = async () => {},
): Promise<void> {
  const options = parseOptions(argv)
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort(new Error('interrupted'))
  process.once('SIGINT', interrupt)
  process.once('SIGTERM', interrupt)
  const chosen = rowsToRun.filter(({ id }) => ids === 'all' || ids.includes(id))
  const repo = new URL('..', import.meta.url).pathname
  const startedAt = performance.now()
  const elapsedMs = () => performance.now() - startedAt
  const leftMs = () => options.limitMins * 60_000 - elapsedMs()
  let ended = 0
  const finish = async (result: RowResult) => {
    ended += 1
    process.stdout.write(`${JSON.stringify(result)}\n`)
    await onResult(result)
  }
  try {
    await measureRows<StageOf>(rowsByEnvironment(chosen), {
      signal: interrupted.signal,
      open: (environment, use) => withStage({ repo, environment, signal: interrupted.signal, say }, use),
      refusal: () => (leftMs() > 0 ? null : `the run has taken its ${options.limitMins} minutes`),
      measure: async (row, stageOf) => {
        const minutes = (elapsedMs() / 60_000).toFixed(1)
        say(`${row.id}: row ${ended + 1} of ${chosen.length}, ${minutes} of at most ${options.limitMins} min`)
        const limitMs = limitMsOf(leftMs())
        const report = await reportOf(row, { stageOf, options, limitMs, signal: interrupted.signal })
        process.stderr.write(`\n${rowText(report)}\n`)
        await finish(report)
      },
      fail: async (row, error) => {
        process.exitCode = 1
        say(`${row.id} failed: ${error instanceof Error ? error.stack : error}`)
        await finish({ row: row.id, title: row.title, failed: reasonOf(error) })
      },
      warn: (error) => {
        process.exitCode = 1
        say(`a stage failed at its end: ${error instanceof Error ? error.stack : error}`)
      },
    })
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
    say('interrupted')
    process.exitCode = interruptedCode
  }
}

/** Returns the limit of a row in whole milliseconds, because a signal takes no others. */
export function limitMsOf(leftMs: number): number {
  return Math.ceil(Math.min(rowLimitMs, leftMs))
}

/** Measures a row. Rejects after `limitMs`. */
async function reportOf(
  row: Row,
  how: { stageOf: StageOf; options: RunOptions; limitMs: number; signal: AbortSignal },
): Promise<RowReport> {
  const { stageOf, options, limitMs, signal } = how
  const limit = AbortSignal.timeout(limitMs)
  const stage = stageOf(AbortSignal.any([signal, limit]))
  const loadBefore = loadAverage()
  const at = new Date()
  try {
    const findings = await row.measure(stage, options)
    return {
      row: row.id,
      title: row.title,
      at: at.toISOString(),
      elapsed_secs: Math.round((Date.now() - at.getTime()) / 1000),
      load_before: loadBefore,
      load_after: loadAverage(),
      ...findings,
      machine: stage.machine,
    }
  } catch (cause) {
    if (limit.aborted) throw new Error(`it took longer than ${Math.round(limitMs / 1000)} s`, { cause })
    throw cause
  }
}

function say(line: string): void {
  process.stderr.write(`# ${line}\n`)
}
