import { Gauge, type Registry } from 'prom-client'
import { version } from '../../foundation/config/version.ts'
import { promisedMiB } from '../../runtimes/admission/promised.ts'
import type { Api } from '../api.ts'

const bytesPerMiB = 2 ** 20

/** Registers the resources of the host, the promised part and the used part. */
export function registerHostGauges(registry: Registry, service: Api): void {
  const registers = [registry]
  new Gauge({
    name: 'holt_build_info',
    help: 'Always 1; the version is its label.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1)
  new Gauge({
    name: 'holt_host_memory_bytes',
    help: 'Memory of the host: all of it, what is available, what runtimes were promised, and what they take.',
    labelNames: ['kind'],
    registers,
    async collect() {
      const { engine, store, freeMemoryMiB, usage } = service
      const [facts, available, promised] = await Promise.all([
        engine.describe(),
        freeMemoryMiB(),
        promisedMiB(store.db, service.thisHost),
      ])
      this.reset()
      this.set({ kind: 'total' }, facts.memoryMiB * bytesPerMiB)
      if (available !== null) this.set({ kind: 'available' }, available * bytesPerMiB)
      this.set({ kind: 'promised' }, promised * bytesPerMiB)
      this.set({ kind: 'used_by_runtimes' }, usage.together.memoryBytes)
    },
  })
  new Gauge({
    name: 'holt_host_disk_bytes',
    help: 'The disk of the state directory: what is free, and what the disks of runtimes hold.',
    labelNames: ['kind'],
    registers,
    async collect() {
      const { engine, usage } = service
      this.set({ kind: 'free' }, (await engine.describe()).diskFreeMiB * bytesPerMiB)
      this.set({ kind: 'used_by_runtimes' }, usage.together.diskBytes)
    },
  })
}
