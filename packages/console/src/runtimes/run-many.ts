import type { Failure } from '../parts/notices.ts'

/** The parts of a job that run at a time. */
const atOnce = 4

interface Job<Item, Result> {
  readonly items: readonly Item[]
  readonly labelOf: (item: Item) => string
  readonly run: (item: Item) => Promise<Result>
  /** The parts that have not begun do not begin after it. */
  readonly signal: AbortSignal
  readonly onProgress: (done: number) => void
}

/** The result of a job. */
export interface JobResult<Item, Result> {
  readonly done: readonly { readonly item: Item; readonly result: Result }[]
  readonly failures: readonly (Failure & { readonly item: Item })[]
  /** The parts that did not begin. */
  readonly left: readonly Item[]
}

/** Runs the parts of a job, a few at a time. A failed part does not stop the others. */
export async function runMany<Item, Result>(job: Job<Item, Result>): Promise<JobResult<Item, Result>> {
  const { items, labelOf, run, signal, onProgress } = job
  const left = [...items]
  const done: { item: Item; result: Result }[] = []
  const failures: (Failure & { item: Item })[] = []
  const work = async () => {
    while (!signal.aborted) {
      const item = left.shift()
      if (item === undefined) return
      try {
        done.push({ item, result: await run(item) })
      } catch (error) {
        failures.push({ item, label: labelOf(item), error })
      }
      onProgress(done.length + failures.length)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work))
  return { done, failures, left }
}
