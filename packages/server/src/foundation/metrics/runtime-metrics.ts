import type { Isolation } from '@holt/engine'
import { Counter, Histogram, type Registry } from 'prom-client'

/** The buckets in seconds, from a claim of a pool to the boot of an application. */
const createBuckets = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60]

/** A completed create. */
export interface MadeRuntime {
  readonly isolation: Isolation
  /** The source: a pool, or else its template or snapshot. */
  readonly source: 'pool' | 'template' | 'snapshot'
  readonly seconds: number
}

/** The metrics of runtimes. */
export class RuntimesMetrics {
  readonly #creates: Histogram
  readonly #memoryKills: Counter

  constructor(registry: Registry) {
    this.#creates = new Histogram({
      name: 'holt_runtime_create_seconds',
      help: 'Time from a request to its running runtime.',
      labelNames: ['isolation', 'source'],
      buckets: createBuckets,
      registers: [registry],
    })
    this.#memoryKills = new Counter({
      name: 'holt_oom_kills_total',
      help: 'Processes killed because their runtime was out of memory.',
      labelNames: ['isolation'],
      registers: [registry],
    })
  }

  noteMemoryKills(isolation: Isolation, count: number): void {
    this.#memoryKills.inc({ isolation }, count)
  }

  noteCreate({ isolation, source, seconds }: MadeRuntime): void {
    this.#creates.observe({ isolation, source }, seconds)
  }
}
