import { Gauge } from 'prom-client'
import type { Runtimes } from '../../runtimes/runtimes.ts'

/** Registers what a drain of this host cannot move. */
export function registerDrain({ metrics, leaving }: Pick<Runtimes, 'metrics' | 'leaving'>): void {
  new Gauge({
    name: 'holt_fleet_drain_stuck_runtimes',
    help: 'Runtimes of this host that its drain has tried to move, and could not move yet.',
    registers: [metrics.registry],
    collect() {
      this.set(leaving.stuck.size)
    },
  })
}
