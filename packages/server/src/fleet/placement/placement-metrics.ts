import { Counter, Histogram, type Registry } from 'prom-client'

/** The buckets in seconds: from a claimed runtime to a fetched image. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]

/**
 * The end of a placement. `own`: the entry answered. `other`: another host did. `refused`: no host
 * could take it.
 */
type PlacementResult = 'own' | 'other' | 'refused'

/** The metrics of the creates that this host places. */
export class PlacementMetrics {
  readonly #placements: Counter
  readonly #probes: Counter
  readonly #refusals: Counter
  readonly #seconds: Histogram

  constructor(registry: Registry) {
    const registers = [registry]
    this.#placements = new Counter({
      name: 'holt_fleet_placements_total',
      help: 'Creates that this host has placed, by the host that answered: own, other, or refused by all.',
      labelNames: ['result'],
      registers,
    })
    this.#probes = new Counter({
      name: 'holt_fleet_probes_total',
      help: 'Requests for an offer to other hosts, by result: answered or unanswered.',
      labelNames: ['result'],
      registers,
    })
    this.#refusals = new Counter({
      name: 'holt_fleet_refusals_total',
      help: 'Placed creates that the chosen host refused, so that the next one was tried.',
      registers,
    })
    this.#seconds = new Histogram({
      name: 'holt_fleet_create_duration_seconds',
      help: 'Time of creates after a probe: as the host predicted it, and as it was.',
      labelNames: ['time'],
      buckets,
      registers,
    })
  }

  notePlacement(result: PlacementResult): void {
    this.#placements.inc({ result })
  }

  noteProbe(result: 'answered' | 'unanswered'): void {
    this.#probes.inc({ result })
  }

  noteRefusal(): void {
    this.#refusals.inc()
  }

  /** Notes the predicted and the real time of a create, in milliseconds. */
  noteTimes(predictedMs: number, realMs: number): void {
    this.#seconds.observe({ time: 'predicted' }, predictedMs / 1000)
    this.#seconds.observe({ time: 'real' }, realMs / 1000)
  }
}
