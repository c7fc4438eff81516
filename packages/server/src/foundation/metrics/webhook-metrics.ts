import { Histogram, type Registry } from 'prom-client'

/** The buckets in seconds, up to the time limit of a receiver. */
const attemptBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

/** The result of an attempt: accepted, another status, or no answer. */
type AttemptResult = 'delivered' | 'refused' | 'unanswered'

/** The metrics of webhooks. */
export class WebhookMetrics {
  readonly #attempts: Histogram

  constructor(registry: Registry) {
    this.#attempts = new Histogram({
      name: 'holt_webhook_attempt_duration_seconds',
      help: 'Time that receivers of webhooks took.',
      labelNames: ['result'],
      buckets: attemptBuckets,
      registers: [registry],
    })
  }

  noteAttempt({ result, seconds }: { result: AttemptResult; seconds: number }): void {
    this.#attempts.observe({ result }, seconds)
  }
}
