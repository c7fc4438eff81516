import type { Fallback, Isolation } from '@holt/engine'
import { Counter, Histogram, type Registry } from 'prom-client'

/** The buckets in seconds, from the freeze of a runtime to the write of much memory. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]

/** The number of cold boots in place of a restore, by class and reason. */
export interface FallbackCount {
  readonly isolation: Isolation
  readonly reason: Fallback['reason']
  readonly count: number
}

/** The metrics of the engine. */
export class EngineMetrics {
  readonly #seconds: Histogram
  readonly #fallbacks: Counter<'isolation' | 'reason'>

  constructor(registry: Registry) {
    this.#seconds = new Histogram({
      name: 'holt_engine_verb_duration_seconds',
      help: 'Time that the engine took to make, remove, freeze, thaw, grow or write down a runtime, or to import an image.',
      labelNames: ['verb', 'result'],
      buckets,
      registers: [registry],
    })
    this.#fallbacks = new Counter({
      name: 'holt_checkpoint_fallbacks_total',
      help: 'Runtimes booted cold because their checkpoint could not be restored.',
      labelNames: ['isolation', 'reason'],
      registers: [registry],
    })
  }

  noteFallback(labels: Omit<FallbackCount, 'count'>): void {
    this.#fallbacks.inc(labels)
  }

  /** Returns the fallbacks since the start of this process. The list is empty if there are none. */
  async fallbacks(): Promise<readonly FallbackCount[]> {
    const { values } = await this.#fallbacks.get()
    return values.map(({ labels, value }) => ({ ...(labels as Omit<FallbackCount, 'count'>), count: value }))
  }

  noteVerb({ verb, result, seconds }: { verb: string; result: string; seconds: number }): void {
    this.#seconds.observe({ verb, result }, seconds)
  }
}
