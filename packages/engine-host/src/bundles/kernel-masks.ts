import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../files/durable-files.ts'

/**
 * Files and directories of `/proc` that describe the whole machine, its devices or its counters.
 */
const PROC = [
  'acpi',
  'asound',
  'bootconfig',
  'buddyinfo',
  'bus',
  'cmdline',
  'config.gz',
  'consoles',
  'crypto',
  'diskstats',
  'dma',
  'driver',
  'dynamic_debug',
  'fb',
  'fs',
  'interrupts',
  'iomem',
  'ioports',
  'irq',
  'kallsyms',
  'kcore',
  'key-users',
  'keys',
  'kmsg',
  'kpagecgroup',
  'kpagecount',
  'kpageflags',
  'latency_stats',
  'locks',
  'mdstat',
  'modules',
  'mtrr',
  'pagetypeinfo',
  'partitions',
  'pressure',
  'sched_debug',
  'schedstat',
  'scsi',
  'slabinfo',
  'softirqs',
  'timer_list',
  'timer_stats',
  'vmallocinfo',
  'zoneinfo',
] as const

/**
 * Directories of `/sys` in which a runtime keeps only the named entries. Programs size themselves
 * by processors, memory nodes and huge pages. They find network devices in `class/net`, a link into
 * `devices/virtual/net`.
 */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  '': ['class', 'devices', 'fs', 'kernel'],
  class: ['net'],
  devices: ['system', 'virtual'],
  'devices/system': ['cpu', 'node'],
  'devices/virtual': ['net'],
  fs: ['cgroup'],
  kernel: ['mm'],
  'kernel/mm': ['hugepages', 'transparent_hugepage'],
}

/** Directories of a processor that count the activity of all runtimes. */
const PROCESSOR_COUNTERS = ['cpuidle', 'thermal_throttle'] as const

/**
 * Returns the paths that a container may not see, in order. The list names the visible entries, so
 * a directory that a new kernel, module or device adds is hidden. Rejects if `/sys` cannot be read.
 */
export async function kernelMasks(sys = '/sys'): Promise<readonly string[]> {
  const hidden = await Promise.all(
    Object.entries(KEPT).map(async ([dir, kept]) => {
      const names = await namesIn(join(sys, dir))
      return names.filter((name) => !kept.includes(name)).map((name) => join('/sys', dir, name))
    }),
  )
  return [...PROC.map((name) => join('/proc', name)), ...hidden.flat(), ...(await processorCounters(sys))].sort()
}

async function processorCounters(sys: string): Promise<string[]> {
  const dir = 'devices/system/cpu'
  const processors = (await namesIn(join(sys, dir))).filter((name) => /^cpu\d+$/.test(name))
  const counters = processors.map(async (processor) => {
    const names = await namesIn(join(sys, dir, processor))
    return PROCESSOR_COUNTERS.filter((name) => names.includes(name)).map((name) => join('/sys', dir, processor, name))
  })
  return (await Promise.all(counters)).flat()
}

/** Returns the names in a directory of `/sys`; none if this kernel does not have the directory. */
async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    return []
  }
}
