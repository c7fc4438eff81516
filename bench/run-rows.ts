import type { Row, RowOptions } from './rows/row.ts'
import { rows } from './rows/rows.ts'
import { rowsByEnvironment } from './rows/rows-by-environment.ts'
import { parseOptions } from './support/command-line.ts'
import { loadAverage } from './support/machine-facts.ts'
import type { RowReport } from './support/report.ts'
import { type Stage, withStage } from './support/stage.ts'
import { rowText } from './support/table.ts'

/** The exit code that a shell reports for a program ended by SIGINT. */
const interruptedCode = 130

/**
 * Runs rows, and shares a stage between rows that need the same daemon. Writes one JSON line for
 * each row to stdout, and a table to stderr. If a row fails, it reports that, continues with the
 * others, and sets the exit code 1. If interrupted, it removes what it has made before it ends.
 */
export async function runRows(ids: readonly string[] | 'all', argv: readonly string[]): Promise<readonly RowReport[]> {
  const options = parseOptions(argv)
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort(new Error('interrupted'))
  process.once('SIGINT', interrupt)
  process.once('SIGTERM', interrupt)
  const chosen = rows.filter(({ id }) => ids === 'all' || ids.includes(id))
  const repo = new URL('..', import.meta.url).pathname
  const reports: RowReport[] = []
  try {
    for (const { environment, rows } of rowsByEnvironment(chosen)) {
      await withStage({ repo, environment, signal: interrupted.signal, say }, async (stage) => {
        for (const row of rows) {
          const report = await runRow(stage, row, options)
          if (report !== null) reports.push(report)
        }
      })
    }
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
    say('interrupted')
    process.exitCode = interruptedCode
  }
  const order = chosen.map(({ id }) => id)
  return reports.toSorted((one, other) => order.indexOf(one.row) - order.indexOf(other.row))
}

async function runRow(stage: Stage, row: Row, options: RowOptions): Promise<RowReport | null> {
  const loadBefore = loadAverage()
  const at = new Date()
  try {
    const findings = await row.measure(stage, options)
    const report: RowReport = {
      row: row.id,
      title: row.title,
      at: at.toISOString(),
      elapsed_secs: Math.round((Date.now() - at.getTime()) / 1000),
      load_before: loadBefore,
      load_after: loadAverage(),
      ...findings,
      machine: stage.machine,
    }
    process.stderr.write(`\n${rowText(report)}\n`)
    process.stdout.write(`${JSON.stringify(report)}\n`)
    return report
  } catch (error) {
    stage.signal.throwIfAborted()
    process.exitCode = 1
    say(`${row.id} failed: ${error instanceof Error ? error.stack : error}`)
    return null
  }
}

function say(line: string): void {
  process.stderr.write(`# ${line}\n`)
}
