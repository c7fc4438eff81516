import { existsSync, readFileSync } from 'node:fs'
import type { Length } from '@holt/testkit'
import { resultsFile } from './support/record-result.ts'

/** The result of an attack, as `support/withstand.ts` records it: times in milliseconds. */
interface Result {
  readonly test: string
  readonly length: Length
  readonly true_ms?: Readonly<Record<'calm' | 'under', Readonly<Record<'p50' | 'p95' | 'max', number>>>>
  readonly allowed_ms: number
  readonly daemon_grown_mib: number
}

/**
 * Prints the newest result at length of each attack, as rows of the table in docs/reliability.md:
 * `node chaos/print-figures.ts`.
 */
function printFigures(): void {
  const lines = existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8').trimEnd().split('\n') : []
  const results = lines.map((line) => JSON.parse(line) as Result)
  const newest = new Map(results.filter(({ length }) => length === 'soak').map((result) => [result.test, result]))
  for (const { test, true_ms: times, allowed_ms: allowed, daemon_grown_mib: grown } of newest.values()) {
    if (times === undefined) continue
    const ms = [times.calm.p50, times.under.p50, times.under.p95, times.under.max, allowed]
    console.log(`| ${[test, ...ms.map((value) => `${Math.round(value)} ms`), `${grown} MiB`].join(' | ')} |`)
  }
}

printFigures()
