/** The figures of one kind of operation. Times are in milliseconds. */
export interface OperationFigures {
  readonly count: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
}

/** The number of failures that are kept in full. */
const maxTold = 10

/** Times operations, and keeps the failures. */
export class Stopwatch {
  readonly #times = new Map<string, number[]>()
  readonly failures: string[] = []
  failed = 0

  /** Runs an operation and records its duration. Returns null if it fails. */
  async time<Value>(operation: string, act: () => Promise<Value>): Promise<Value | null> {
    const startedAt = performance.now()
    try {
      const value = await act()
      const times = this.#times.get(operation) ?? []
      times.push(performance.now() - startedAt)
      this.#times.set(operation, times)
      return value
    } catch (error) {
      this.failed += 1
      if (this.failures.length < maxTold) this.failures.push(`${operation}: ${error}`)
      return null
    }
  }

  /** Returns the figures of each operation. */
  figures(): Readonly<Record<string, OperationFigures>> {
    return Object.fromEntries([...this.#times].map(([operation, times]) => [operation, figuresOf(times)]))
  }
}

function figuresOf(times: number[]): OperationFigures {
  times.sort((a, b) => a - b)
  const at = (quantile: number) =>
    Math.round(times[Math.min(times.length - 1, Math.floor(times.length * quantile))] ?? 0)
  return { count: times.length, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) }
}
