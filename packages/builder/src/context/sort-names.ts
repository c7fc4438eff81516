import type { SearchAccount } from './search-account.ts'

/** The number of names that are sorted at once, in less than a millisecond. */
const chunkSize = 1024

/**
 * Sorts names as `Array.prototype.sort` does, and yields when it is time to rest: a context may
 * have 250,000.
 */
export function* sortNames(names: readonly string[], account: SearchAccount): Generator<void, readonly string[]> {
  let runs: string[][] = []
  for (let at = 0; at < names.length; at += chunkSize) {
    const run = names.slice(at, at + chunkSize).sort()
    account.spend(run.length)
    runs.push(run)
    if (account.isDue) yield
  }
  while (runs.length > 1) {
    const longer: string[][] = []
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? [], account))
    runs = longer
  }
  return runs[0] ?? []
}

function* merge(one: string[], other: string[], account: SearchAccount): Generator<void, string[]> {
  if (other.length === 0) return one
  const merged: string[] = []
  let [left, right] = [0, 0]
  while (left < one.length && right < other.length) {
    const [a = '', b = ''] = [one[left], other[right]]
    const isFirst = a <= b
    merged.push(isFirst ? a : b)
    if (isFirst) left += 1
    else right += 1
    if (merged.length % chunkSize !== 0) continue
    account.spend(chunkSize)
    if (account.isDue) yield
  }
  for (; left < one.length; left += 1) merged.push(one[left] ?? '')
  for (; right < other.length; right += 1) merged.push(other[right] ?? '')
  return merged
}
