/** One timed operation. The duration of a failed one has no meaning, and `error` has its reason. */
export interface Operation {
  readonly series: string
  readonly ms: number
  readonly error: string | null
}

/** One of the compared subjects. */
export interface Subject {
  /** The series of its rounds. The whole operation is the last one. */
  readonly series: readonly string[]
  /** Prepares a round. It is not timed, and its CPU time does not count. */
  readonly prepare?: (round: number) => Promise<void>
  /** Runs one round: one operation of each series, or several with several clients. */
  readonly perform: (round: number) => Promise<readonly Operation[]>
  /** Removes what the round has made. It is not timed, but its CPU time counts. */
  readonly tidy?: (round: number) => Promise<void>
  /**
   * Returns the CPU time so far, in milliseconds, of all processes that work for this subject; null
   * if it is unknown.
   */
  readonly cpuMs: () => number | null
  /**
   * True if work continues after the answer. Then the subject's CPU time is that of the whole
   * batch.
   */
  readonly background: boolean
  /** True for a floor, which does not affect the number of rounds of a batch. */
  readonly isFloor?: boolean
}

/** Times one operation of one series. */
export async function timed(series: string, operation: () => Promise<unknown>): Promise<Operation> {
  const startedAt = performance.now()
  try {
    await operation()
    return { series, ms: performance.now() - startedAt, error: null }
  } catch (error) {
    return { series, ms: performance.now() - startedAt, error: reasonOf(error) }
  }
}

/** An operation whose CPU time is measured instead of its duration. */
export interface CpuTimed {
  readonly series: string
  /** Returns the CPU time so far of the processes that count, in milliseconds; null if unknown. */
  readonly cpuMs: () => number | null
  /** The operations that `operation` does, one after the other. The result is the time of each. */
  readonly count?: number
  readonly operation: () => Promise<unknown>
}

/** Measures the CPU time of an operation. The result has it as `ms`. */
export async function cpuTimed({ series, cpuMs, count = 1, operation }: CpuTimed): Promise<Operation> {
  const before = cpuMs()
  try {
    await operation()
  } catch (error) {
    return { series, ms: 0, error: reasonOf(error) }
  }
  const after = cpuMs()
  if (before === null || after === null) return { series, ms: 0, error: 'this host does not account CPU time by group' }
  return { series, ms: (after - before) / count, error: null }
}

/** Returns the error message as one line. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(/\s+/g, ' ').slice(0, 300)
}
