import { Gauge, type Registry } from 'prom-client'
import type { Api } from '../api.ts'

/** Registers the gauges that count rows of the store. */
export function registerRowGauges(registry: Registry, service: Api): void {
  const registers = [registry]
  new Gauge({
    name: 'holt_runtimes',
    help: 'Runtimes of all projects by state. Those that have ended are counted for as long as they are shown.',
    labelNames: ['state', 'isolation'],
    registers,
    async collect() {
      const rows = await service.store.db
        .selectFrom('runtimes')
        .select(['state', 'isolation', ({ fn }) => fn.countAll<number>().as('count')])
        .groupBy(['state', 'isolation'])
        .execute()
      this.reset()
      for (const { state, isolation, count } of rows) this.set({ state, isolation }, Number(count))
    },
  })
  new Gauge({
    name: 'holt_webhooks',
    help: 'Webhooks by state.',
    labelNames: ['state'],
    registers,
    async collect() {
      this.set({ state: 'active' }, 0)
      this.set({ state: 'disabled' }, 0)
      const rows = await service.store.db
        .selectFrom('webhooks')
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
      const { count } = await service.store.db
        .selectFrom('webhook_deliveries')
        .select(({ fn }) => fn.countAll().as('count'))
        .where('state', '=', 'retrying')
        .executeTakeFirstOrThrow()
      this.set(Number(count))
    },
  })
}
