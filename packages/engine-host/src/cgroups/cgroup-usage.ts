import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EngineError } from '@holt/engine'
import { hasCode } from '../files/durable-files.ts'
import type { CgroupHost } from './detect-cgroups.ts'
import { parseMemoryInUse } from './runtime-cgroup.ts'

/** The files in which this host accounts for the usage of a group of processes. */
export interface UsageFiles {
  readonly cpu: { readonly point: string; readonly file: string; readonly parse: (text: string) => number }
  readonly memory: string
}

/** The usage of a cgroup. */
export interface CgroupUsage {
  readonly cpuUsec: number
  readonly memoryBytes: number
  readonly processes: number
}

/**
 * Returns the accounting files of this host, or null if it does not account for both processor time
 * and memory.
 */
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
 * Reads the usage of a cgroup. Its files are read synchronously: no disk is behind them. The
 * threads of asynchronous reads may all wait for a disk. Throws kind `gone` if there is no such
 * cgroup.
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
    throw new EngineError(kind, `cannot read the usage of ${path}`, { cause })
  }
}

/**
 * Parses nanoseconds into microseconds (Linux `Documentation/admin-guide/cgroup-v1/cpuacct.rst`).
 */
function parseCpuAccount(text: string): number {
  return Math.floor(Number(text) / 1000)
}

/** Parses microseconds (Linux `Documentation/admin-guide/cgroup-v2.rst`, `cpu.stat`). */
function parseCpuStat(text: string): number {
  return Number(/^usage_usec (\d+)$/m.exec(text)?.[1] ?? 0)
}

function countLines(text: string): number {
  return text.split('\n').length - 1
}
