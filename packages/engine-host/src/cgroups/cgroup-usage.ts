import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EngineError } from '@holt/engine'
import { hasCode } from '../tools/durable-files.ts'
import type { CgroupHost } from './detect-cgroups.ts'
import { parseMemoryInUse } from './runtime-cgroup.ts'

/** Where this host accounts for what a group of processes takes. */
export interface UsageFiles {
  readonly cpu: { readonly point: string; readonly file: string; readonly parse: (text: string) => number }
  readonly memory: string
}

/** What a cgroup takes. */
export interface CgroupUsage {
  readonly cpuUsec: number
  readonly memoryBytes: number
  readonly processes: number
}

/** Finds where this host accounts; null where it does not for both, processor time and memory. */
export function usageFilesOf(host: CgroupHost): UsageFiles | null {
  const memory = host.controllers.get('memory')
  const account = host.controllers.get('cpuacct')
  const unified = host.version === 'v2' ? host.controllers.get('cpu') : undefined
  if (memory === undefined) return null
  if (account !== undefined) return { memory, cpu: { point: account, file: 'cpuacct.usage', parse: parseCpuAccount } }
  if (unified !== undefined) return { memory, cpu: { point: unified, file: 'cpu.stat', parse: parseCpuStat } }
  return null
}

/**
 * Reads what a cgroup takes. Its files are read at once: no disk is behind them, while the threads
 * that files are else read in may all wait for one. Kind `gone` where there is no such cgroup.
 */
export function readCgroupUsage({ cpu, memory }: UsageFiles, path: string): CgroupUsage {
  try {
    return {
      cpuUsec: cpu.parse(readFileSync(join(cpu.point, path, cpu.file), 'utf8')),
      memoryBytes: parseMemoryInUse(readFileSync(join(memory, path, 'memory.stat'), 'utf8')),
      processes: countLines(readFileSync(join(memory, path, 'cgroup.procs'), 'utf8')),
    }
  } catch (cause) {
    const kind = hasCode(cause, 'ENOENT', 'ENODEV') ? 'gone' : 'failed'
    throw new EngineError(kind, `cannot read what ${path} takes`, { cause })
  }
}

/** Linux `Documentation/admin-guide/cgroup-v1/cpuacct.rst`: nanoseconds. */
function parseCpuAccount(text: string): number {
  return Math.floor(Number(text) / 1000)
}

/** Linux `Documentation/admin-guide/cgroup-v2.rst`, `cpu.stat`: microseconds. */
function parseCpuStat(text: string): number {
  return Number(/^usage_usec (\d+)$/m.exec(text)?.[1] ?? 0)
}

function countLines(text: string): number {
  return text.split('\n').length - 1
}
