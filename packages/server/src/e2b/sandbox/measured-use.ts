import type { SandboxUsage } from '@holt/e2b'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { RatedLook } from '../../runtimes/usage/window.ts'

const bytesPerMiB = 2 ** 20

/**
 * Returns a measurement of a runtime as clients of E2B read it: in bytes, and percent of all
 * processors.
 */
export function measuredUse(
  { cpu, memory_mib, disk_mib }: Pick<RuntimeRow, 'cpu' | 'memory_mib' | 'disk_mib'>,
  { rate, memoryBytes, diskBytes }: RatedLook,
): SandboxUsage {
  return {
    // Clients read whole processors.
    cpuCount: Math.max(1, Math.ceil(cpu)),
    cpuUsedPct: Math.round(((rate ?? 0) / cpu) * 10_000) / 100,
    memUsed: memoryBytes,
    memTotal: memory_mib * bytesPerMiB,
    memCache: 0,
    diskUsed: diskBytes,
    diskTotal: disk_mib * bytesPerMiB,
  }
}
