import type { Metrics } from '../metrics/metrics.ts'
import type { Store } from '../store/open-store.ts'
import type { Tracer } from './tracer.ts'

/** Returns a store whose changes are measured and traced. */
export function observeStore(store: Store, { metrics, tracer }: { metrics: Metrics; tracer: Tracer }): Store {
  return {
    ...store,
    change: async (alone, run, options) => {
      const begunAt = performance.now()
      const durable = options?.durable ?? 'now'
      let result = 'failed'
      try {
        const changed = await tracer.span('store change', { 'holt.durable': durable }, () =>
          store.change(alone, run, options),
        )
        result = 'committed'
        return changed
      } finally {
        metrics.store.noteChange({ result, durable, seconds: (performance.now() - begunAt) / 1000 })
      }
    },
  }
}
