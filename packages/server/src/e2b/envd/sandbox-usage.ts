import { ConnectError, type SandboxUsage } from '@holt/e2b'
import type { SandboxVisit } from '../sandbox/sandbox-visit.ts'

const mib = 1024 * 1024

/** Returns the present use of a runtime. */
export async function sandboxUsage({ service, row }: SandboxVisit): Promise<SandboxUsage> {
  const now = await service.usage.now(row.runtime_id)
  if (now === null) throw new ConnectError('unavailable', 'The use of the sandbox cannot be measured.')
  return {
    cpuCount: row.cpu,
    cpuUsedPct: Math.round((1000 * (now.rate ?? 0)) / row.cpu) / 10,
    memTotal: row.memory_mib * mib,
    memUsed: now.memoryBytes,
    memCache: 0,
    diskUsed: now.diskBytes,
    diskTotal: row.disk_mib * mib,
  }
}
