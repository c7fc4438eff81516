import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../tools/durable-files.ts'

/** Bytes that a runtime can use above its limit while a process of it is being ended. */
const HEADROOM_BYTES = 256 * 2 ** 20

/**
 * The memory limit of one gVisor runtime's cgroup. To the host the runtime is one process, so the kernel could only end all of it. Therefore the kernel enforces a higher value, and `MemoryGuard`
 * ends processes when the runtime is above its limit.
 */
export interface MemoryLimit {
  /** Amounts of memory in use, in bytes, of which the kernel is to tell. None in version 2, where it tells of everything above the limit. */
  readonly thresholds: readonly number[]
  /** Sets what the kernel enforces, above the limit. False while the runtime uses more than that. */
  enforce(): Promise<boolean>
  /** Bytes of memory in use, without the cache of files on disk, which the kernel takes back when it is needed. */
  used(): Promise<number>
  /** True while processes wait for memory, at what the kernel enforces. */
  isStuck(): Promise<boolean>
  /** Raises what the kernel enforces, so that waiting processes continue. This works once; then it returns false. */
  raise(): Promise<boolean>
}

/** The limit of the cgroup at `dir`, a directory of the hierarchy that has the memory controller. `bytes` is the limit of the runtime. */
export function memoryLimitAt(dir: string, version: 'v1' | 'v2', bytes: number): MemoryLimit {
  return version === 'v1' ? limitOfVersion1(dir, bytes) : limitOfVersion2(dir, bytes)
}

/**
 * Without the OOM killer a process that needs memory at the limit waits. A system call that needs memory fails, which gVisor does not survive everywhere (Linux, `Documentation/admin-guide/cgroup-v1/memory.rst`,
 * section 10). So that is for the case that no process could be ended in time.
 */
function limitOfVersion1(dir: string, bytes: number): MemoryLimit {
  const write = (file: string, value: number) => writeFile(join(dir, file), String(value))
  const read = (file: string) => readFile(join(dir, file), 'utf8')
  // Memory and swap together; absent where the kernel does not count swap. It is never below the limit of memory.
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

/** At `memory.high` the kernel slows down who asks for memory, and at `memory.max` it ends the runtime (Linux, `Documentation/admin-guide/cgroup-v2.rst`). */
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

/** The memory in use that is no cache of files on disk. `prefix` is that of the counters in `stat`. */
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
