import type { SandboxUsage } from './backend/sandbox.ts'

/** Returns a measurement as `GET /metrics` answers it. */
export function usageAnswer(usage: SandboxUsage, nowMs: number): object {
  return {
    ts: Math.floor(nowMs / 1000),
    cpu_count: usage.cpuCount,
    cpu_used_pct: usage.cpuUsedPct,
    mem_total: usage.memTotal,
    mem_used: usage.memUsed,
    mem_cache: usage.memCache,
    disk_used: usage.diskUsed,
    disk_total: usage.diskTotal,
  }
}
