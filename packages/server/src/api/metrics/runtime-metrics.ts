import type { Isolation } from '@holt/engine'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Service } from '../../service.ts'

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

  constructor(registry: Registry, service: () => Service) {
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
    registerRuntimeGauge(registry, service)
  }

  noteMemoryKills(isolation: Isolation, count: number): void {
    this.#memoryKills.inc({ isolation }, count)
  }

  noteCreate({ isolation, source, seconds }: MadeRuntime): void {
    this.#creates.observe({ isolation, source }, seconds)
  }
}

function registerRuntimeGauge(registry: Registry, service: () => Service): void {
  new Gauge({
    name: 'holt_runtimes',
    help: 'Runtimes of all projects by state. Those that have ended are counted for as long as they are shown.',
    labelNames: ['state', 'isolation'],
    registers: [registry],
    async collect() {
      const rows = await service()
        .store.db.selectFrom('runtimes')
        .select(['state', 'isolation', ({ fn }) => fn.countAll<number>().as('count')])
        .groupBy(['state', 'isolation'])
        .execute()
      this.reset()
      for (const { state, isolation, count } of rows) this.set({ state, isolation }, Number(count))
    },
  })
}
