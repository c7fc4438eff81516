import type { ExpressionBuilder } from 'kysely'
import { Gauge, type Registry } from 'prom-client'
import type { Tables } from '../../foundation/store/tables.ts'
import type { Api } from '../api.ts'

/** Registers the gauges that count rows of the store. */
export function registerRowGauges(registry: Registry, service: Api): void {
  const registers = [registry]
  new Gauge({
    name: 'holt_runtimes',
    help: 'Runtimes of all projects on this host by state. Those that have ended are counted for as long as they are shown.',
    labelNames: ['state', 'isolation'],
    registers,
    async collect() {
      const all = service.store.db
        .selectFrom('runtimes')
        .select(['state', 'isolation', ({ fn }) => fn.countAll<number>().as('count')])
        .groupBy(['state', 'isolation'])
      const rows = await (service.config.fleet === null ? all : all.where(countedHere(service))).execute()
      this.reset()
      for (const { state, isolation, count } of rows) this.set({ state, isolation }, Number(count))
    },
  })
  new Gauge({
    name: 'holt_webhooks',
    help: 'Webhooks by state. In a fleet the host that sends their messages counts them.',
    labelNames: ['state'],
    registers,
    async collect() {
      this.set({ state: 'active' }, 0)
      this.set({ state: 'disabled' }, 0)
      if (!service.duties.holds('webhooks')) return
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
    help: 'Messages that wait to be sent again. In a fleet the host that sends them counts them.',
    registers,
    async collect() {
      this.set(0)
      if (!service.duties.holds('webhooks')) return
      const { count } = await service.store.db
        .selectFrom('webhook_deliveries')
        .select(({ fn }) => fn.countAll().as('count'))
        .where('state', '=', 'retrying')
        .executeTakeFirstOrThrow()
      this.set(Number(count))
    },
  })
}

/**
 * Returns the condition for the runtimes that this host of a fleet counts: its own. The host that
 * removes old rows also counts the paused ones without a host.
 */
function countedHere({ thisHost, duties }: Api) {
  return ({ eb, or }: ExpressionBuilder<Tables, 'runtimes'>) =>
    or([eb('host_id', '=', thisHost.hostId), ...(duties.holds('cleaner') ? [eb('host_id', 'is', null)] : [])])
}
