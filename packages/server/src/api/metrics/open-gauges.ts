import { Gauge, type Registry } from 'prom-client'
import type { Api } from '../api.ts'

/** Registers the gauges of streams, connections and builds in progress. */
export function registerOpenGauges(registry: Registry, service: Api): void {
  const registers = [registry]
  new Gauge({
    name: 'holt_streams_open',
    help: 'Answers that go on: streams of items, transfers, terminals, and requests that wait for something.',
    registers,
    collect() {
      this.set(service.streams.size)
    },
  })
  new Gauge({
    name: 'holt_port_visits_open',
    help: 'Requests and connections to programs in runtimes that are open.',
    registers,
    collect() {
      this.set(service.ports.size)
    },
  })
  new Gauge({
    name: 'holt_egress_connections',
    help: 'Connections of runtimes that are open.',
    registers,
    collect() {
      this.set(service.networks.openConnections)
    },
  })
  new Gauge({
    name: 'holt_builds',
    help: 'Builds that wait for their turn, and that are carried out.',
    labelNames: ['state'],
    registers,
    collect() {
      const { waiting, running } = service.builds.counts
      this.set({ state: 'waiting' }, waiting)
      this.set({ state: 'running' }, running)
    },
  })
  new Gauge({
    name: 'holt_checkpoint_retakes',
    help: 'Checkpoints of built templates that this host could not restore.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(service.retakes.counts)) this.set({ state }, count)
    },
  })
}
