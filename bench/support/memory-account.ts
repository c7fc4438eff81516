import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The memory of a group's processes. */
export interface MemoryUse {
  /**
   * The anonymous memory, and the memory of files that are not on a disk, such as the memory of a
   * sandbox's programs. Without the page cache.
   */
  readonly bytes: number
  /** The number of direct subgroups, one for each runtime. */
  readonly groups: number
}

/**
 * Returns the memory of a group with its subgroups in bytes, from `memory.stat` (Linux
 * `cgroup-v1/memory.rst`, `cgroup-v2.rst`).
 */
export function parseMemoryBytes(version: 1 | 2, text: string): number {
  const names = version === 1 ? ['total_rss', 'total_shmem'] : ['anon', 'shmem']
  return names.reduce((sum, name) => sum + Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN), 0)
}

/**
 * Returns the hierarchy that accounts memory by group, from `/proc/self/mountinfo`
 * (`proc_pid_mountinfo(5)`); null if there is none.
 */
export function memoryHierarchyOf(mountinfo: string): { readonly version: 1 | 2; readonly mountPoint: string } | null {
  let second: string | null = null
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ')
    const mountPoint = left.split(' ')[4]
    const [type, , options = ''] = right.split(' ')
    if (mountPoint === undefined) continue
    if (type === 'cgroup' && options.split(',').includes('memory')) return { version: 1, mountPoint }
    if (type === 'cgroup2') second ??= mountPoint
  }
  return second === null ? null : { version: 2, mountPoint: second }
}

/**
 * Returns the memory of a group by its path. Returns null if memory is not accounted by group, or
 * if the group does not exist.
 */
export function readMemoryUse(group: string): MemoryUse | null {
  const hierarchy = memoryHierarchyOf(readFileSync('/proc/self/mountinfo', 'utf8'))
  if (hierarchy === null) return null
  const dir = join(hierarchy.mountPoint, group)
  try {
    return {
      bytes: parseMemoryBytes(hierarchy.version, readFileSync(join(dir, 'memory.stat'), 'utf8')),
      groups: readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory()).length,
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Returns the memory that a process has alone, plus its share of shared memory, in bytes
 * (`proc_pid_smaps_rollup(5)`).
 */
export function readProportionalBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return 1024 * Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? Number.NaN)
}
