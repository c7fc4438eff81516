import { type MethodCoverage, type PackageCoverage, statuses } from './coverage-data.ts'
import type { PublishedPackage } from './published-methods.ts'

/** The behaviour of one method in one check. */
export interface Outcome {
  readonly method: string
  readonly status: MethodCoverage['status']
  readonly note: string | null
}

/**
 * Merges the outcomes of a language's checks into the coverage of its packages. A method has the
 * worst status of its checks. Throws if a method has no outcome, or an outcome no method.
 */
export function mergeOutcomes(
  packages: readonly PublishedPackage[],
  outcomes: readonly Outcome[],
): readonly PackageCoverage[] {
  const known = new Set(packages.flatMap(({ methods }) => methods))
  const unknown = outcomes.filter(({ method }) => !known.has(method)).map(({ method }) => method)
  if (unknown.length > 0) throw new Error(`the packages have no public method ${unknown.join(', ')}`)
  const missing = [...known].filter((method) => !outcomes.some((one) => one.method === method))
  if (missing.length > 0) throw new Error(`no program calls ${missing.join(', ')}`)
  return packages.map((one) => ({ ...one, methods: one.methods.map((method) => merged(method, outcomes)) }))
}

function merged(method: string, outcomes: readonly Outcome[]): MethodCoverage {
  const own = outcomes.filter((one) => one.method === method)
  const status = statuses.findLast((worst) => own.some((one) => one.status === worst)) ?? 'absent'
  return { method, status, notes: [...new Set(own.flatMap(({ note }) => note ?? []))] }
}
