import type { Decision } from '@holt/egress'
import { Counter, type Registry } from 'prom-client'

/**
 * The metrics of the egress gateway. They do not include names of hosts and rules, which clients
 * choose.
 */
export class GatewayMetrics {
  readonly #decisions: Counter
  readonly #bytes: Counter

  constructor(registry: Registry) {
    const registers = [registry]
    this.#decisions = new Counter({
      name: 'holt_egress_decisions_total',
      help: 'What the gateway decided on names, connections and requests of runtimes; what it refused by the reason.',
      labelNames: ['type', 'allowed', 'reason'],
      registers,
    })
    this.#bytes = new Counter({
      name: 'holt_egress_bytes_total',
      help: 'Bytes that connections of runtimes carried which have ended.',
      labelNames: ['direction'],
      registers,
    })
  }

  noteDecision({ type, allowed, rule, bytes_sent, bytes_received }: Decision): void {
    this.#decisions.inc({ type, allowed: String(allowed), reason: allowed ? '' : rule })
    if (bytes_sent !== undefined) this.#bytes.inc({ direction: 'sent' }, bytes_sent)
    if (bytes_received !== undefined) this.#bytes.inc({ direction: 'received' }, bytes_received)
  }
}
