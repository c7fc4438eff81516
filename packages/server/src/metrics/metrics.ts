import type { Isolation } from '@holt/engine'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Service } from '../service.ts'

/** From a claim of a pool to the boot of an application, in seconds. */
const createBuckets = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60]

/** A create that wanted a runtime of a pool, and whether one waited. */
export interface PoolClaim {
  readonly template: string
  readonly isolation: Isolation
  readonly hit: boolean
}

/** A create that was answered. */
export interface MadeRuntime {
  readonly isolation: Isolation
  /** What it came from: a pool, or else its template or its snapshot. */
  readonly source: 'pool' | 'template' | 'snapshot'
  readonly seconds: number
}

/** What the service counts, in the text format of Prometheus. Nothing in it names a project or a runtime; templates are named. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #hits: Counter
  readonly #misses: Counter
  readonly #creates: Histogram

  constructor(service: () => Service) {
    const registers = [this.#registry]
    const pool = ['template', 'isolation']
    this.#hits = new Counter({
      name: 'holt_pool_hits_total',
      help: 'Creates that got a runtime which waited in a pool.',
      labelNames: pool,
      registers,
    })
    this.#misses = new Counter({
      name: 'holt_pool_misses_total',
      help: 'Creates that a pool could have served, and for which none waited.',
      labelNames: pool,
      registers,
    })
    this.#creates = new Histogram({
      name: 'holt_runtime_create_seconds',
      help: 'Time from a request to its running runtime.',
      labelNames: ['isolation', 'source'],
      buckets: createBuckets,
      registers,
    })
    registerPoolGauges(this.#registry, service)
    registerRuntimeGauge(this.#registry, service)
  }

  /** The media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType
  }

  noteClaim({ template, isolation, hit }: PoolClaim): void {
    const counter = hit ? this.#hits : this.#misses
    counter.inc({ template, isolation })
  }

  noteCreate({ isolation, source, seconds }: MadeRuntime): void {
    this.#creates.observe({ isolation, source }, seconds)
  }

  /** Everything as it is now. */
  text(): Promise<string> {
    return this.#registry.metrics()
  }
}

/** Projects may have templates of one name: their pools are told of together. */
function registerPoolGauges(registry: Registry, service: () => Service): void {
  new Gauge({
    name: 'holt_pool_members',
    help: 'Runtimes that wait in a pool, or that are being made for it.',
    labelNames: ['template', 'isolation', 'state'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { template, isolation, ready, making } of service().pools.states) {
        this.inc({ template, isolation, state: 'ready' }, ready)
        this.inc({ template, isolation, state: 'making' }, making)
      }
    },
  })
  new Gauge({
    name: 'holt_pool_size_wanted',
    help: 'How many runtimes a pool should have ready, as floor, demand and ceiling decide.',
    labelNames: ['template', 'isolation'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { template, isolation, size } of service().pools.states) this.inc({ template, isolation }, size)
    },
  })
  new Gauge({
    name: 'holt_pool_age_seconds',
    help: 'How long the oldest runtime of a pool has waited.',
    labelNames: ['template', 'isolation'],
    registers: [registry],
    collect() {
      this.reset()
      const { pools, now } = service()
      // The oldest comes last, so that it is the one which is told of a name.
      const aged = pools.states.flatMap(({ oldestAt, ...pool }) => (oldestAt === null ? [] : [{ ...pool, oldestAt }]))
      for (const { template, isolation, oldestAt } of aged.sort((one, other) => other.oldestAt - one.oldestAt))
        this.set({ template, isolation }, Math.max(0, now() - oldestAt) / 1000)
    },
  })
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
