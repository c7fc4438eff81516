import { Counter, Registry } from 'prom-client'
import type { Log } from '../log.ts'
import { EngineMetrics } from './engine-metrics.ts'
import { GatewayMetrics } from './gateway-metrics.ts'
import { HttpMetrics } from './http-metrics.ts'
import { PoolMetrics } from './pool-metrics.ts'
import { ProcessMetrics } from './process-metrics.ts'
import { RuntimesMetrics } from './runtime-metrics.ts'
import { StoreMetrics } from './store-metrics.ts'
import { WebhookMetrics } from './webhook-metrics.ts'
import { WorkMetrics } from './work-metrics.ts'

/** The name of the counter of metrics that could not be read. */
const errorsName = 'holt_metrics_errors_total'

/**
 * The metrics of the service in the text format of Prometheus. Each subject has its own file in
 * this folder. Gauges that read the state of the service are in api/metrics. No label has a free
 * text of a client or an id, except the names of templates.
 */
export class Metrics {
  /** Other gauges are registered here. */
  readonly registry = new Registry()
  readonly #log: Log
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

  constructor({ stateDir, log }: { readonly stateDir: string; readonly log: Log }) {
    this.#log = log
    this.#errors = new Counter({
      name: errorsName,
      help: 'Readings of a metric that failed. The answer is then without that metric.',
      labelNames: ['metric'],
      registers: [this.registry],
    })
    this.http = new HttpMetrics(this.registry)
    this.engine = new EngineMetrics(this.registry)
    this.store = new StoreMetrics(this.registry, stateDir)
    this.pools = new PoolMetrics(this.registry)
    this.runtimes = new RuntimesMetrics(this.registry)
    this.work = new WorkMetrics(this.registry)
    this.gateway = new GatewayMetrics(this.registry)
    this.webhooks = new WebhookMetrics(this.registry)
    this.process = new ProcessMetrics(this.registry)
  }

  /** The media type of `text`. */
  get contentType(): string {
    return this.registry.contentType
  }

  /**
   * Returns the present value of all metrics. Metrics that cannot be read are omitted, so that a
   * failed disk or store does not hide the others.
   */
  async text(): Promise<string> {
    const names = this.registry.getMetricsAsArray().map(({ name }) => name)
    const texts = await Promise.all(names.filter((name) => name !== errorsName).map((name) => this.#textOf(name)))
    const errors = await this.registry.getSingleMetricAsString(errorsName)
    return `${[...texts.filter((text) => text !== null), errors].join('\n\n')}\n`
  }

  /** Returns one metric, or null if it cannot be read. */
  async #textOf(metric: string): Promise<string | null> {
    try {
      return await this.registry.getSingleMetricAsString(metric)
    } catch (err) {
      this.#errors.inc({ metric })
      this.#log.warn({ err, metric }, 'a metric could not be read')
      return null
    }
  }
}
