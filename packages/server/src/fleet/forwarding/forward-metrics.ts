import { Counter, Histogram, type Registry } from 'prom-client'

/**
 * The end of an attempt to forward a request. `answered`: the owner's answer began. `moved`: the
 * host did not own the thing. `unreachable`: the host did not accept it. `broken`: the connection
 * broke before an answer. `refused`: the host had no room for the paused runtime. `left`: the
 * client disconnected.
 */
export type ForwardOutcome = 'answered' | 'moved' | 'unreachable' | 'broken' | 'refused' | 'left'

/** The buckets in seconds: from a hop within a machine to a slow owner. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]

/** The metrics of requests that this host forwards. */
export class ForwardMetrics {
  readonly #forwards: Counter
  readonly #seconds: Histogram

  constructor(registry: Registry) {
    const registers = [registry]
    this.#forwards = new Counter({
      name: 'holt_fleet_forwards_total',
      help: 'Attempts to forward a request to the host that owns its subject, by their outcome: answered, moved, unreachable, broken, refused or left.',
      labelNames: ['outcome'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'holt_fleet_forward_duration_seconds',
      help: 'Time from the decision to forward a request to the head of the answer of its owner.',
      buckets,
      registers,
    })
  }

  /** Counts an attempt. */
  note(outcome: ForwardOutcome): void {
    this.#forwards.inc({ outcome })
  }

  /** Notes the time until the head of an answer, in seconds. */
  noteAnswer(seconds: number): void {
    this.#seconds.observe(seconds)
  }
}
