import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { testLength } from '@holt/testkit'
import { repository } from '../../e2e/support/service-process.ts'

/**
 * The file of results, with one JSON object on each line. The figures in docs/reliability.md come
 * from it.
 */
export const resultsFile = join(repository, '.holt', 'chaos', 'results.jsonl')

/** Prints and records the result of a test. Names of figures carry their units. */
export function recordResult(test: string, figures: Readonly<Record<string, unknown>>): void {
  const line = JSON.stringify({ test, length: testLength(), at: new Date().toISOString(), ...figures })
  console.log(line)
  mkdirSync(dirname(resultsFile), { recursive: true })
  appendFileSync(resultsFile, `${line}\n`)
}
