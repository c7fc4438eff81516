import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../files/durable-files.ts'

/** The bytes above its limit that a runtime can use until a process is killed. */
const HEADROOM_BYTES = 256 * 2 ** 20

/**
 * The memory limit of a gVisor runtime's cgroup. The host sees the runtime as one process, so the
 * kernel could only kill all of it. Therefore the kernel enforces a higher value, and `MemoryGuard`
 * has processes killed when the runtime is above its limit.
 */
export interface MemoryLimit {
  /**
   * The amounts of memory in use, in bytes, at which the kernel reports. Empty in version 2, which
   * reports every excess over the limit.
   */
  readonly thresholds: readonly number[]
  /** Sets the value that the kernel enforces. Returns false if the runtime uses more than that. */
  enforce(): Promise<boolean>
  /**
   * Returns the bytes of memory in use, without the page cache of files, which the kernel reclaims.
   */
  used(): Promise<number>
  /** Returns true while processes wait for memory at the value that the kernel enforces. */
  isStuck(): Promise<boolean>
  /**
   * Raises the enforced value once, so that waiting processes continue. Returns false after that.
   */
  raise(): Promise<boolean>
}

/**
 * Returns the memory limit of a cgroup. `dir` is its directory in the hierarchy of the memory
 * controller, and `bytes` the limit of the runtime.
 */
export function memoryLimitAt(dir: string, version: 'v1' | 'v2', bytes: number): MemoryLimit {
  return version === 'v1' ? limitOfVersion1(dir, bytes) : limitOfVersion2(dir, bytes)
}

/**
 * Returns a limit of cgroup version 1, with the kernel's OOM killer off. A process that touches a
 * page at the enforced value waits (Linux, `Documentation/admin-guide/cgroup-v1/memory.rst`,
 * section 10). A system call that needs memory fails there, and gVisor does not always survive
 * that. A runtime therefore reaches the enforced value only if no process could be killed in time.
 */
function limitOfVersion1(dir: string, bytes: number): MemoryLimit {
  const write = (file: string, value: number) => writeFile(join(dir, file), String(value))
  const read = (file: string) => readFile(join(dir, file), 'utf8')
  // Memory and swap together, which must not be below the memory limit. Absent if the kernel does
  // not account for swap.
  const setTotal = (value: number) => write('memory.memsw.limit_in_bytes', value).catch(ignoreAbsent)
  const limitNow = async () => Number(await read('memory.limit_in_bytes'))
  const setLimit = async (value: number) => {
    const isLower = value < (await limitNow())
    if (!isLower) await setTotal(value)
    await write('memory.limit_in_bytes', value)
    if (isLower) await setTotal(value)
  }
  return {
    thresholds: [0, 1, 2, 3].map((quarter) => bytes + (quarter * HEADROOM_BYTES) / 4),
    async enforce() {
      await write('memory.oom_control', 1)
      try {
        await setLimit(bytes + HEADROOM_BYTES)
        return true
      } catch (error) {
        if (hasCode(error, 'EBUSY')) return false
        throw error
      }
    },
    used: async () => workingBytes(await read('memory.usage_in_bytes'), await read('memory.stat'), 'total_'),
    isStuck: async () => /^under_oom 1$/m.test(await read('memory.oom_control')),
    async raise() {
      if ((await limitNow()) > bytes + HEADROOM_BYTES) return false
      await setLimit(bytes + 2 * HEADROOM_BYTES)
      return true
    },
  }
}

/**
 * Returns a limit of cgroup version 2. The kernel throttles the runtime above `memory.high` and
 * kills it at `memory.max` (Linux, `Documentation/admin-guide/cgroup-v2.rst`).
 */
function limitOfVersion2(dir: string, bytes: number): MemoryLimit {
  const write = (file: string, value: number) => writeFile(join(dir, file), String(value))
  const read = (file: string) => readFile(join(dir, file), 'utf8')
  return {
    thresholds: [],
    async enforce() {
      await write('memory.high', bytes)
      await write('memory.max', bytes + HEADROOM_BYTES)
      return true
    },
    used: async () => workingBytes(await read('memory.current'), await read('memory.stat'), ''),
    isStuck: async () => false,
    raise: async () => false,
  }
}

/** Returns `usage` without the page cache, in bytes. `prefix` is that of the counters in `stat`. */
function workingBytes(usage: string, stat: string, prefix: string): number {
  let cache = 0
  for (const line of stat.split('\n')) {
    const [name, value] = line.split(' ')
    if (name === `${prefix}inactive_file` || name === `${prefix}active_file`) cache += Number(value)
  }
  return Math.max(0, Number(usage) - cache)
}

function ignoreAbsent(error: unknown): void {
  if (!hasCode(error, 'ENOENT', 'EACCES')) throw error
}
