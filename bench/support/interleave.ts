import { nearestRank } from './statistics.ts'
import type { Operation, Subject } from './subject.ts'

/** The length of a batch. */
export interface BatchLength {
  /** The number of rounds; null for 100, or 30 if every operation is slower than 100 ms. */
  readonly rounds: number | null
  /** The time after which no round begins, once `leastRounds` are done. */
  readonly budgetMs: number
  readonly leastRounds: number
}

/** The results of a subject in a batch. */
export interface Measured {
  readonly subject: Subject
  readonly rounds: number
  readonly operations: readonly Operation[]
  /** The time spent in the rounds of this subject. */
  readonly wallMs: number
  /** The CPU time of all its operations; null if it is unknown. */
  readonly cpuMs: number | null
}

const manyRounds = 100
const fewRounds = 30
const slowMs = 100

/** Returns true if the number of rounds is sufficient for the duration of their operations. */
export function isEnough(
  rounds: number,
  operations: readonly Operation[],
  length: BatchLength,
  elapsedMs: number,
): boolean {
  if (rounds >= length.leastRounds && elapsedMs >= length.budgetMs) return true
  if (length.rounds !== null) return rounds >= length.rounds
  if (rounds >= manyRounds) return true
  return rounds >= fewRounds && fastestMedian(operations) > slowMs
}

/**
 * Runs the subjects in turn until the batch is long enough. The order rotates, A B C, B C A, C A B:
 * a subject that writes a GiB slows the next one down, which must not always be the same. Keeps
 * failed operations as such. Rejects if a `prepare` or `tidy` fails.
 */
export async function interleave(
  subjects: readonly Subject[],
  length: BatchLength,
  options: { readonly signal: AbortSignal; readonly onRound?: (done: number) => void },
): Promise<readonly Measured[]> {
  const tallies = subjects.map((subject) => ({
    subject,
    operations: [] as Operation[],
    wallMs: 0,
    cpuMs: 0,
    cpuStart: subject.cpuMs(),
  }))
  const startedAt = performance.now()
  let rounds = 0
  while (
    !isEnough(
      rounds,
      tallies.filter(({ subject }) => subject.isFloor !== true).flatMap(({ operations }) => operations),
      length,
      performance.now() - startedAt,
    )
  ) {
    const first = rounds % tallies.length
    for (const tally of [...tallies.slice(first), ...tallies.slice(0, first)]) {
      options.signal.throwIfAborted()
      await tally.subject.prepare?.(rounds)
      const cpuBefore = tally.subject.cpuMs()
      const wallBefore = performance.now()
      tally.operations.push(...(await tally.subject.perform(rounds)))
      tally.wallMs += performance.now() - wallBefore
      await tally.subject.tidy?.(rounds)
      tally.cpuMs += (tally.subject.cpuMs() ?? Number.NaN) - (cpuBefore ?? Number.NaN)
    }
    rounds += 1
    options.onRound?.(rounds)
  }
  return tallies.map(({ subject, operations, wallMs, cpuMs, cpuStart }) => {
    const total = subject.background ? (subject.cpuMs() ?? Number.NaN) - (cpuStart ?? Number.NaN) : cpuMs
    return { subject, rounds, operations, wallMs, cpuMs: Number.isNaN(total) ? null : total }
  })
}

function fastestMedian(operations: readonly Operation[]): number {
  const bySeries = Map.groupBy(operations, (operation) => operation.series)
  const medians = [...bySeries.values()].map((list) =>
    nearestRank(
      list.map(({ ms }) => ms).toSorted((a, b) => a - b),
      0.5,
    ),
  )
  return Math.min(...medians)
}
