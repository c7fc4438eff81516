import { Gauge, Histogram, type Registry } from 'prom-client'
import type { Service } from '../../service.ts'

/** The buckets in seconds, up to the time limit of a receiver. */
const attemptBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

/** The result of an attempt: accepted, another status, or no answer. */
type AttemptResult = 'delivered' | 'refused' | 'unanswered'

/** The metrics of webhooks. */
export class WebhookMetrics {
  readonly #attempts: Histogram

  constructor(registry: Registry, service: () => Service) {
    const registers = [registry]
    this.#attempts = new Histogram({
      name: 'holt_webhook_attempt_duration_seconds',
      help: 'Time that receivers of webhooks took.',
      labelNames: ['result'],
      buckets: attemptBuckets,
      registers,
    })
    new Gauge({
      name: 'holt_webhooks',
      help: 'Webhooks by state.',
      labelNames: ['state'],
      registers,
      async collect() {
        this.set({ state: 'active' }, 0)
        this.set({ state: 'disabled' }, 0)
        const rows = await service()
          .store.db.selectFrom('webhooks')
          .select(({ fn }) => ['state', fn.countAll().as('count')] as const)
          .groupBy('state')
          .execute()
        for (const { state, count } of rows) this.set({ state }, Number(count))
      },
    })
    new Gauge({
      name: 'holt_webhook_deliveries_retrying',
      help: 'Messages that wait to be sent again.',
      registers,
      async collect() {
        const { count } = await service()
          .store.db.selectFrom('webhook_deliveries')
          .select(({ fn }) => fn.countAll().as('count'))
          .where('state', '=', 'retrying')
          .executeTakeFirstOrThrow()
        this.set(Number(count))
      },
    })
  }

  noteAttempt({ result, seconds }: { result: AttemptResult; seconds: number }): void {
    this.#attempts.observe({ result }, seconds)
  }
}
