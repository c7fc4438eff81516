/**
 * One operation that was timed. One that failed has no duration worth keeping, and its reason in
 * `error`.
 */
export interface Operation {
  readonly series: string
  readonly ms: number
  readonly error: string | null
}

/** One of the things that are compared. */
export interface Subject {
  /** The series that its rounds yield, the whole operation last. */
  readonly series: readonly string[]
  /** Makes room for a round: neither timed nor counted. */
  readonly prepare?: (round: number) => Promise<void>
  /** One round: one operation of each series, or several when several clients are at work. */
  readonly perform: (round: number) => Promise<readonly Operation[]>
  /** Takes away what the round has made: not timed, but its CPU time counts. */
  readonly tidy?: (round: number) => Promise<void>
  /**
   * CPU time so far, in milliseconds, of all that works for this subject; null where it cannot be
   * told.
   */
  readonly cpuMs: () => number | null
  /**
   * True where work goes on after the answer: then the CPU time of the whole batch is this
   * subject's.
   */
  readonly background: boolean
  /** True for a floor: it does not decide how many rounds a batch has. */
  readonly isFloor?: boolean
}

/** Times one operation that stands for one series. */
export async function timed(series: string, operation: () => Promise<unknown>): Promise<Operation> {
  const startedAt = performance.now()
  try {
    await operation()
    return { series, ms: performance.now() - startedAt, error: null }
  } catch (error) {
    return { series, ms: performance.now() - startedAt, error: reasonOf(error) }
  }
}

/** What went wrong, in one line. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(/\s+/g, ' ').slice(0, 300)
}
