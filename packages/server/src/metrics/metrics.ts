import { Counter, Registry } from 'prom-client'
import type { Service } from '../service.ts'
import { EngineMetrics } from './engine-metrics.ts'
import { GatewayMetrics } from './gateway-metrics.ts'
import { registerHostGauges } from './host-metrics.ts'
import { HttpMetrics } from './http-metrics.ts'
import { PoolMetrics } from './pool-metrics.ts'
import { ProcessMetrics } from './process-metrics.ts'
import { RuntimesMetrics } from './runtime-metrics.ts'
import { StoreMetrics } from './store-metrics.ts'
import { WebhookMetrics } from './webhook-metrics.ts'
import { WorkMetrics } from './work-metrics.ts'

/** What counts the metrics that could not be read. */
const errorsName = 'holt_metrics_errors_total'

/**
 * What the service counts, in the text format of Prometheus. Each subject is a file of its own
 * beside this one. No label has a value that a client chooses freely, or an id; templates are
 * named.
 */
export class Metrics {
  readonly #registry = new Registry()
  readonly #service: () => Service
  readonly #errors: Counter
  readonly http: HttpMetrics
  readonly engine: EngineMetrics
  readonly store: StoreMetrics
  readonly pools: PoolMetrics
  readonly runtimes: RuntimesMetrics
  readonly work: WorkMetrics
  readonly gateway: GatewayMetrics
  readonly webhooks: WebhookMetrics
  readonly process: ProcessMetrics

  constructor(service: () => Service) {
    this.#service = service
    this.#errors = new Counter({
      name: errorsName,
      help: 'Readings of a metric that failed. The answer is then without that metric.',
      labelNames: ['metric'],
      registers: [this.#registry],
    })
    this.http = new HttpMetrics(this.#registry, service)
    this.engine = new EngineMetrics(this.#registry)
    this.store = new StoreMetrics(this.#registry, service)
    this.pools = new PoolMetrics(this.#registry, service)
    this.runtimes = new RuntimesMetrics(this.#registry, service)
    this.work = new WorkMetrics(this.#registry, service)
    this.gateway = new GatewayMetrics(this.#registry, service)
    this.webhooks = new WebhookMetrics(this.#registry, service)
    this.process = new ProcessMetrics(this.#registry)
    registerHostGauges(this.#registry, service)
  }

  /** The media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType
  }

  /**
   * Everything as it is now, but for what cannot be read: a disk or a store that fails does not
   * take away what tells of it.
   */
  async text(): Promise<string> {
    const names = this.#registry.getMetricsAsArray().map(({ name }) => name)
    const texts = await Promise.all(names.filter((name) => name !== errorsName).map((name) => this.#textOf(name)))
    const errors = await this.#registry.getSingleMetricAsString(errorsName)
    return `${[...texts.filter((text) => text !== null), errors].join('\n\n')}\n`
  }

  /** One metric; null where it cannot be read. */
  async #textOf(metric: string): Promise<string | null> {
    try {
      return await this.#registry.getSingleMetricAsString(metric)
    } catch (err) {
      this.#errors.inc({ metric })
      this.#service().log.warn({ err, metric }, 'a metric could not be read')
      return null
    }
  }
}
