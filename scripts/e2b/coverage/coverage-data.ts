import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The ways in which a method of E2B's packages can behave here, from the best to the worst. */
export const statuses = ['works', 'differs', 'absent'] as const

/** The behaviour of a method in the checks of a run. */
export interface MethodCoverage {
  readonly method: string
  readonly status: (typeof statuses)[number]
  /** How it differs, or why it is absent: one phrase each. */
  readonly notes: readonly string[]
}

/** The coverage of one package, in the version that the run used. */
export interface PackageCoverage {
  readonly name: string
  readonly language: 'JavaScript' | 'Python'
  readonly version: string
  readonly methods: readonly MethodCoverage[]
}

/** The file that a run writes, and from which the page is made. */
export const dataFile = fileURLToPath(new URL('coverage.json', import.meta.url))

/** Returns the coverage of the last run. */
export function readCoverage(): readonly PackageCoverage[] {
  return JSON.parse(readFileSync(dataFile, 'utf8')) as readonly PackageCoverage[]
}
