import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { testLength } from '@holt/testkit'
import { repository } from '../../e2e/support/service-process.ts'

/** Where results are kept, a JSON object a line; what stands in docs/reliability.md comes from there. */
export const resultsFile = join(repository, '.holt', 'chaos', 'results.jsonl')

/** Prints what came of a test, and keeps it. Units stand in the names of the figures. */
export function recordResult(test: string, figures: Readonly<Record<string, unknown>>): void {
  const line = JSON.stringify({ test, length: testLength(), at: new Date().toISOString(), ...figures })
  console.log(line)
  mkdirSync(dirname(resultsFile), { recursive: true })
  appendFileSync(resultsFile, `${line}\n`)
}
