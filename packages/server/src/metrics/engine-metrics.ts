import { Histogram, type Registry } from 'prom-client'

/** From freezing a runtime to writing much memory down, in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]

/** What is counted of the engine. */
export class EngineMetrics {
  readonly #seconds: Histogram

  constructor(registry: Registry) {
    this.#seconds = new Histogram({
      name: 'holt_engine_verb_duration_seconds',
      help: 'Time that the engine took to make, remove, freeze, thaw, grow or write down a runtime, or to import an image.',
      labelNames: ['verb', 'result'],
      buckets,
      registers: [registry],
    })
  }

  noteVerb({ verb, result, seconds }: { verb: string; result: string; seconds: number }): void {
    this.#seconds.observe({ verb, result }, seconds)
  }
}
