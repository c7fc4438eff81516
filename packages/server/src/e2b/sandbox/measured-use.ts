import type { SandboxUsage } from '@holt/e2b'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { RatedLook } from '../../runtimes/usage/window.ts'
import { presentSize } from './present-size.ts'

const bytesPerMiB = 2 ** 20

/**
 * Returns a measurement of a runtime as clients of E2B read it: in bytes, and percent of all
 * processors.
 */
export function measuredUse(
  row: Pick<RuntimeRow, 'cpu' | 'memory_mib' | 'disk_mib'>,
  { rate, memoryBytes, diskBytes }: Pick<RatedLook, 'rate' | 'memoryBytes' | 'diskBytes'>,
): SandboxUsage {
  const { cpuCount, memoryMB, diskSizeMB } = presentSize(row)
  return {
    cpuCount,
    cpuUsedPct: Math.round(((rate ?? 0) / row.cpu) * 10_000) / 100,
    memUsed: memoryBytes,
    memTotal: memoryMB * bytesPerMiB,
    memCache: 0,
    diskUsed: diskBytes,
    diskTotal: diskSizeMB * bytesPerMiB,
  }
}
