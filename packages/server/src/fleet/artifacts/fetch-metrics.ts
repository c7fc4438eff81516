import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** The end of a fetch. `left`: nobody waited for it any more. */
export type FetchOutcome = 'fetched' | 'failed' | 'left'

/** The buckets in seconds: from a small checkpoint to a large image over a slow network. */
const buckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800]

/** The metrics of artifacts that this host fetches from others and gives to others. */
export class FetchMetrics {
  readonly #fetches: Counter
  readonly #seconds: Histogram
  readonly #received: Counter
  readonly #sent: Counter
  readonly #missing: Gauge

  constructor(registry: Registry) {
    const registers = [registry]
    this.#fetches = new Counter({
      name: 'holt_fleet_artifact_fetches_total',
      help: 'Fetches of images and checkpoints from other hosts or the object store, by kind and outcome: fetched, failed or left.',
      labelNames: ['kind', 'outcome'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'holt_fleet_artifact_fetch_duration_seconds',
      help: 'Time of a fetch that succeeded.',
      labelNames: ['kind'],
      buckets,
      registers,
    })
    this.#received = new Counter({
      name: 'holt_fleet_artifact_received_bytes_total',
      help: 'Bytes of artifacts that were received, by source: peer or store.',
      labelNames: ['source'],
      registers,
    })
    this.#sent = new Counter({
      name: 'holt_fleet_artifact_sent_bytes_total',
      help: 'Bytes of artifacts that were given to other hosts.',
      registers,
    })
    this.#missing = new Gauge({
      name: 'holt_fleet_artifact_missing_bytes',
      help: 'Bytes that the fetches in progress have not received yet.',
      registers,
    })
  }

  /** Counts the end of a fetch. `seconds` is its time. */
  noteEnd(kind: string, outcome: FetchOutcome, seconds: number): void {
    this.#fetches.inc({ kind, outcome })
    if (outcome === 'fetched') this.#seconds.observe({ kind }, seconds)
  }

  /** Counts bytes that were received. */
  noteReceived(source: 'peer' | 'store', bytes: number): void {
    this.#received.inc({ source }, bytes)
  }

  /** Counts bytes that were given to another host. */
  noteSent(bytes: number): void {
    this.#sent.inc(bytes)
  }

  /** Changes the bytes that the fetches in progress miss. */
  addMissing(bytes: number): void {
    this.#missing.inc(bytes)
  }
}
