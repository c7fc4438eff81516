import { type Holt, HoltError, type RuntimeMetrics, type RuntimeSample } from '@holt/sdk'

/** The length of the lines of use, in seconds. */
export const shownSecs = 600

/** The interval between two reads of the rows in sight, in milliseconds. */
const pollMs = 5_000

/** The time for which new rows are gathered before they are read, in milliseconds. */
const gatherMs = 150

/** The step of the earlier values that a new row reads, in seconds. */
const stepSecs = 20

/** The runtimes of one request. */
const perRequest = 100

/** The runtimes whose values are kept after their rows have left the sight. */
const mostKept = 400

/** The use of a runtime at one moment. `cpu` is the number of busy vCPUs; null if it is unknown. */
interface UsagePoint {
  readonly at: number
  readonly cpu: number | null
  readonly memoryBytes: number
}

/** The use of a runtime in the last minutes, oldest first, and its limits. */
export interface RuntimeUse {
  readonly points: readonly UsagePoint[]
  readonly cpuLimit: number
  readonly memoryLimitBytes: number
}

/**
 * Reads the use of the runtimes whose rows are in sight, all of them with one request. A row that
 * comes into sight reads the last minutes once, and then only the present values.
 */
export class UsageStore {
  readonly #holt: Pick<Holt, 'runtimes'>
  readonly #isHidden: () => boolean
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #known = new Map<string, RuntimeUse>()
  #ended: AbortController | null = null
  #next: ReturnType<typeof setTimeout> | undefined
  #dueAt = Number.POSITIVE_INFINITY

  /** Nothing is read while `isHidden` returns true: nobody sees the lines. */
  constructor(holt: Pick<Holt, 'runtimes'>, isHidden: () => boolean) {
    this.#holt = holt
    this.#isHidden = isHidden
  }

  /** Reads until the returned function is called. */
  start(): () => void {
    const ended = new AbortController()
    this.#ended = ended
    if (this.#listeners.size > 0) this.#readWithin(gatherMs)
    return () => {
      ended.abort()
      clearTimeout(this.#next)
      this.#dueAt = Number.POSITIVE_INFINITY
      this.#ended = null
    }
  }

  /** Calls a function when the use of a runtime has changed, and reads it until the end of that. */
  subscribe(id: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    if (!this.#known.has(id)) this.#readWithin(gatherMs)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(id)
    }
  }

  /** Returns the use of a runtime; null before it was read. */
  get(id: string): RuntimeUse | null {
    return this.#known.get(id) ?? null
  }

  #readWithin(ms: number): void {
    const dueAt = performance.now() + ms
    if (this.#ended === null || dueAt >= this.#dueAt) return
    clearTimeout(this.#next)
    this.#dueAt = dueAt
    this.#next = setTimeout(() => void this.#read(), ms)
  }

  async #read(): Promise<void> {
    this.#dueAt = Number.POSITIVE_INFINITY
    const signal = this.#ended?.signal
    if (signal === undefined) return
    const ids = this.#isHidden() ? [] : [...this.#listeners.keys()]
    const { fresh = [], known = [] } = Object.groupBy(ids, (id) => (this.#known.has(id) ? 'known' : 'fresh'))
    const requests = [
      ...chunksOf(fresh).map((some) => ({ runtime_id: some, window_secs: shownSecs, step_secs: stepSecs })),
      ...chunksOf(known).map((some) => ({ runtime_id: some })),
    ]
    try {
      const answers = await Promise.all(
        requests.map((request) => this.#holt.runtimes.metrics({ ...request, limit: perRequest, signal }).all()),
      )
      for (const metrics of answers.flat()) this.#take(metrics)
      this.#forget()
    } catch (error) {
      // The table has no lines then. Only a service that cannot measure is not asked again.
      if (error instanceof HoltError && error.code === 'not_supported_here') return
    }
    if (!signal.aborted) this.#readWithin(pollMs)
  }

  #take({ runtime_id, limits, now, samples }: RuntimeMetrics): void {
    const since = Date.now() - shownSecs * 1000
    const before = this.#known.get(runtime_id)?.points.filter(({ at }) => at >= since) ?? []
    const news = [...samples, ...(now === null ? [] : [now])].map(pointOf)
    this.#known.delete(runtime_id)
    this.#known.set(runtime_id, {
      points: [...before, ...news],
      cpuLimit: limits.cpu,
      memoryLimitBytes: limits.memory_bytes,
    })
    for (const listener of this.#listeners.get(runtime_id) ?? []) listener()
  }

  /** Forgets the runtimes that were read longest ago. */
  #forget(): void {
    for (const id of this.#known.keys()) {
      if (this.#known.size <= mostKept) return
      if (!this.#listeners.has(id)) this.#known.delete(id)
    }
  }
}

function pointOf({ at, cpu, memory }: RuntimeSample): UsagePoint {
  return { at: Date.parse(at), cpu: cpu.rate, memoryBytes: memory.used_bytes }
}

function chunksOf(ids: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / perRequest) }, (_, at) =>
    ids.slice(at * perRequest, (at + 1) * perRequest),
  )
}
