import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Gauge, Histogram, type Registry } from 'prom-client'

/** The buckets in seconds, from a commit in memory to a busy disk. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** The metrics of the store. */
export class StoreMetrics {
  readonly #seconds: Histogram

  constructor(registry: Registry, stateDir: string) {
    const registers = [registry]
    this.#seconds = new Histogram({
      name: 'holt_store_change_duration_seconds',
      help: 'Time that a change of the store took: until it was durable, or with durable="later" until it was committed.',
      labelNames: ['durable', 'result'],
      buckets,
      registers,
    })
    new Gauge({
      name: 'holt_store_size_bytes',
      help: 'Size of the files of the store. There are none where the store is a PostgreSQL.',
      labelNames: ['file'],
      registers,
      async collect() {
        const path = join(stateDir, 'holt.db')
        this.reset()
        for (const [file, name] of [
          ['database', path],
          ['log', `${path}-wal`],
        ] as const) {
          const info = await stat(name).catch(() => null) // The store is elsewhere.
          if (info !== null) this.set({ file }, info.size)
        }
      },
    })
  }

  noteChange({ durable, result, seconds }: { durable: string; result: string; seconds: number }): void {
    this.#seconds.observe({ durable, result }, seconds)
  }
}
