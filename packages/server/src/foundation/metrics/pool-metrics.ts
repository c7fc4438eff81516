import type { Isolation } from '@holt/engine'
import { Counter, type Registry } from 'prom-client'

/** A create that a pool could serve, and its success. */
export interface PoolClaim {
  readonly template: string
  readonly isolation: Isolation
  readonly hit: boolean
}

/** The creates that a pool could serve since the service started, by their outcome. */
export interface PoolClaims {
  readonly hits: number
  readonly misses: number
}

/** The name and the class of a pool. Templates of several projects may share them. */
type PoolLabels = Pick<PoolClaim, 'template' | 'isolation'>

/** The metrics of pools. */
export class PoolMetrics {
  readonly #hits: Counter<keyof PoolLabels>
  readonly #misses: Counter<keyof PoolLabels>

  constructor(registry: Registry) {
    const registers = [registry]
    const pool = ['template', 'isolation'] as const
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
  /** Returns a function from a pool to its claims. */
  async claims(): Promise<(pool: PoolLabels) => PoolClaims> {
    const [hits, misses] = await Promise.all([this.#hits.get(), this.#misses.get()])
    const countOf = ({ values }: typeof hits, { template, isolation }: PoolLabels) =>
      values.find(({ labels }) => labels.template === template && labels.isolation === isolation)?.value ?? 0
    return (pool) => ({ hits: countOf(hits, pool), misses: countOf(misses, pool) })
  }
}
