import { readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError, type RuntimeId } from '@holt/engine'
import type { HostEngineOptions } from '../options.ts'
import { hasCode } from '../tools/durable-files.ts'
import { CgroupFreezer, type FreezerPlace } from './cgroup-freezer.ts'
import type { CgroupHost } from './detect-cgroups.ts'

/**
 * How long killed processes may take to leave. A process in uninterruptible sleep takes as long as
 * its disk.
 */
const EMPTY_TIMEOUT_MS = 20_000

/**
 * The cgroups of one runtime, one for each hierarchy of the host. What is in them is the runtime:
 * nothing else is ever put there.
 */
export class RuntimeCgroup {
  /** As OCI's `cgroupsPath` has it. */
  readonly path: string
  readonly #host: CgroupHost
  readonly #freezer: CgroupFreezer | null

  constructor(
    on: { readonly cgroups: CgroupHost; readonly freezer: FreezerPlace | null },
    parent: string,
    id: RuntimeId,
  ) {
    this.#host = on.cgroups
    this.path = join(parent, id)
    this.#freezer = on.freezer === null ? null : new CgroupFreezer(on.freezer, this.path)
  }

  /**
   * Whether `kill` was begun, be it by a process that was killed itself: nothing in here can fork
   * from then on, which the first program that is started dies of.
   */
  async isEnding(): Promise<boolean> {
    const pids = this.#host.controllers.get('pids')
    return pids !== undefined && (await readOrEmpty(join(pids, this.path, 'pids.max'))).trim() === '0'
  }

  /** Kills every process of the runtime and waits until none is left. No cgroup is success. */
  async kill(): Promise<void> {
    const deadline = performance.now() + EMPTY_TIMEOUT_MS
    await this.#forbidForks()
    // A large memory takes tens of milliseconds to go, and a pause is not answered before: a wait
    // that doubles would overshoot by as much.
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 1.5, 50)) {
      const pids = await this.processes()
      if (pids.length === 0) return
      if (performance.now() > deadline)
        throw new EngineError('failed', `processes of ${this.path} do not end: ${pids.join(', ')}`)
      for (const pid of pids) killNow(pid)
      // What is frozen dies when it goes on, with the signal first of all.
      await this.#freezer?.release()
      await sleep(waitMs)
    }
  }

  /**
   * The numbers of the runtime's processes, from all hierarchies: on its way in a process joins one
   * after the other.
   */
  async processes(): Promise<number[]> {
    const pids = new Set<number>()
    for (const text of await Promise.all(this.#dirs().map((dir) => readOrEmpty(join(dir, 'cgroup.procs'))))) {
      for (const line of text.split('\n')) if (Number(line) > 0) pids.add(Number(line))
    }
    return [...pids]
  }

  /** Removes the cgroups; they must be empty. Gone is success. */
  async remove(): Promise<void> {
    await Promise.all(this.#dirs().map(removeGroup))
  }

  /** Bytes of memory in use, what the kernel could give back left out. 0 where it does not say. */
  async memoryInUse(): Promise<number> {
    const memory = this.#host.controllers.get('memory')
    return memory === undefined ? 0 : parseMemoryInUse(await readOrEmpty(join(memory, this.path, 'memory.stat')))
  }

  /** How many processes the kernel has killed for the runtime's memory limit. */
  async oomKills(): Promise<number> {
    const memory = this.#host.controllers.get('memory')
    if (memory === undefined) return 0
    const file = this.#host.version === 'v2' ? 'memory.events' : 'memory.oom_control'
    return parseOomKills(await readOrEmpty(join(memory, this.path, file)))
  }

  /**
   * A fork bomb must not outrun the kill. It stays forbidden, and so tells who comes later that the
   * end was begun.
   */
  async #forbidForks(): Promise<void> {
    const pids = this.#host.controllers.get('pids')
    if (pids === undefined) return
    await writeFile(join(pids, this.path, 'pids.max'), '0').catch(ignoreAbsent)
  }

  #dirs(): string[] {
    return this.#host.hierarchies.map((point) => join(point, this.path))
  }
}

/** The cgroup that holds the cgroups of an installation's runtimes. */
export function cgroupParentOf({
  installationId,
  cgroupParent = `/holt-${installationId}`,
}: Pick<HostEngineOptions, 'installationId' | 'cgroupParent'>): string {
  return cgroupParent
}

/** Removes the cgroup that held the runtimes, where it is empty. */
export async function removeParentCgroup(host: CgroupHost, parent: string): Promise<void> {
  await Promise.all(
    host.hierarchies.map((point) =>
      rmdir(join(point, parent)).catch(() => {
        // Runtimes go on in it, or it never was.
      }),
    ),
  )
}

/**
 * `oom_kill N` stands in `memory.events` (version 2) and in `memory.oom_control` (version 1) alike.
 */
export function parseOomKills(text: string): number {
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0)
}

/**
 * What is nobody's file in `memory.stat`: `rss` in version 1 is `anon` in version 2; the memory of
 * a gVisor runtime is `shmem`.
 */
export function parseMemoryInUse(text: string): number {
  return [...text.matchAll(/^(?:rss|anon|shmem) (\d+)$/gm)].reduce((sum, [, bytes]) => sum + Number(bytes), 0)
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended in between.
  }
}

async function removeGroup(dir: string): Promise<void> {
  for (let waitMs = 1; ; waitMs *= 2) {
    try {
      await rmdir(dir)
      return
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return
      if (!hasCode(error, 'EBUSY') || waitMs > 1_000)
        throw new EngineError('failed', `cannot remove ${dir}`, { cause: error })
      await sleep(waitMs)
    }
  }
}

async function readOrEmpty(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    ignoreAbsent(error)
    return ''
  }
}

function ignoreAbsent(error: unknown): void {
  if (!hasCode(error, 'ENOENT', 'ENODEV', 'EOPNOTSUPP')) throw error
}
