import type { Isolation } from '@holt/engine'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Service } from '../../service.ts'

/** A create that a pool could serve, and its success. */
export interface PoolClaim {
  readonly template: string
  readonly isolation: Isolation
  readonly hit: boolean
}

/** The metrics of pools. */
export class PoolMetrics {
  readonly #hits: Counter
  readonly #misses: Counter

  constructor(registry: Registry, service: () => Service) {
    const registers = [registry]
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
    registerPoolGauges(registry, service)
  }

  noteClaim({ template, isolation, hit }: PoolClaim): void {
    const counter = hit ? this.#hits : this.#misses
    counter.inc({ template, isolation })
  }
}

/**
 * Registers the gauges of pools. Templates of several projects may share a name, and then share a
 * value.
 */
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
      // The oldest is set last, so that a shared name has its age.
      const aged = pools.states.flatMap(({ oldestAt, ...pool }) => (oldestAt === null ? [] : [{ ...pool, oldestAt }]))
      for (const { template, isolation, oldestAt } of aged.sort((one, other) => other.oldestAt - one.oldestAt))
        this.set({ template, isolation }, Math.max(0, now() - oldestAt) / 1000)
    },
  })
}
