import { Gauge, type Registry } from 'prom-client'
import type { Api } from '../api.ts'

/**
 * Registers the gauges of pools. Templates of several projects may share a name, and then share a
 * value.
 */
export function registerPoolGauges(registry: Registry, service: Api): void {
  new Gauge({
    name: 'holt_pool_members',
    help: 'Runtimes that wait in a pool, or that are being made for it.',
    labelNames: ['template', 'isolation', 'state'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { template, isolation, ready, making } of service.pools.states) {
        this.inc({ template, isolation, state: 'ready' }, ready)
        this.inc({ template, isolation, state: 'making' }, making)
      }
    },
  })
  new Gauge({
    name: 'holt_pool_size_wanted',
    help: 'How many runtimes a pool should have ready, as floor, demand and ceiling decide.',
    labelNames: ['template', 'isolation'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { template, isolation, size } of service.pools.states) this.inc({ template, isolation }, size)
    },
  })
  new Gauge({
    name: 'holt_pool_age_seconds',
    help: 'How long the oldest runtime of a pool has waited.',
    labelNames: ['template', 'isolation'],
    registers: [registry],
    collect() {
      this.reset()
      const { pools, now } = service
      // The oldest is set last, so that a shared name has its age.
      const aged = pools.states.flatMap(({ oldestAt, ...pool }) => (oldestAt === null ? [] : [{ ...pool, oldestAt }]))
      for (const { template, isolation, oldestAt } of aged.sort((one, other) => other.oldestAt - one.oldestAt))
        this.set({ template, isolation }, Math.max(0, now() - oldestAt) / 1000)
    },
  })
}
