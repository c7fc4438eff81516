import type { Isolation } from '@holt/engine'
import { Counter, type Registry } from 'prom-client'

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

  constructor(registry: Registry) {
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
  }

  noteClaim({ template, isolation, hit }: PoolClaim): void {
    const counter = hit ? this.#hits : this.#misses
    counter.inc({ template, isolation })
  }
}
