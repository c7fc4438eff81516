import { readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError, type RuntimeId } from '@holt/engine'
import { hasCode } from '../files/durable-files.ts'
import type { HostEngineOptions } from '../installation/options.ts'
import { CgroupFreezer, type FreezerPlace } from './cgroup-freezer.ts'
import type { CgroupHost } from './detect-cgroups.ts'

/**
 * The time in which killed processes have to end, in milliseconds. A process in uninterruptible
 * sleep takes as long as its disk.
 */
const EMPTY_TIMEOUT_MS = 20_000

/**
 * The cgroups of one runtime, one for each hierarchy of the host. The processes in them are exactly
 * those of the runtime: nothing else is ever put there.
 */
export class RuntimeCgroup {
  /** The path in the form of OCI's `cgroupsPath`. */
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
   * Returns true if `kill` has begun, even in a process that has since been killed. From then on no
   * process in here can fork, and the first program that is started dies of that.
   */
  async isEnding(): Promise<boolean> {
    const pids = this.#host.controllers.get('pids')
    return pids !== undefined && (await readOrEmpty(join(pids, this.path, 'pids.max'))).trim() === '0'
  }

  /**
   * Kills every process of the runtime and waits until none is left. Succeeds if there is no
   * cgroup.
   */
  async kill(): Promise<void> {
    const deadline = performance.now() + EMPTY_TIMEOUT_MS
    await this.#forbidForks()
    // Freeing a large memory takes tens of milliseconds, and a pause is answered only after that. A
    // wait that doubles would overshoot by as much.
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 1.5, 50)) {
      const pids = await this.processes()
      if (pids.length === 0) return
      if (performance.now() > deadline)
        throw new EngineError('failed', `processes of ${this.path} do not end: ${pids.join(', ')}`)
      for (const pid of pids) killNow(pid)
      // A frozen process dies when it is thawed: it handles the signal first.
      await this.#freezer?.release()
      await sleep(waitMs)
    }
  }

  /**
   * Returns the ids of the runtime's processes from all hierarchies. A process that is being added
   * joins one after the other.
   */
  async processes(): Promise<number[]> {
    const pids = new Set<number>()
    for (const text of await Promise.all(this.#dirs().map((dir) => readOrEmpty(join(dir, 'cgroup.procs'))))) {
      for (const line of text.split('\n')) if (Number(line) > 0) pids.add(Number(line))
    }
    return [...pids]
  }

  /** Removes the cgroups, which must be empty. Succeeds if they are gone. */
  async remove(): Promise<void> {
    await Promise.all(this.#dirs().map(removeGroup))
  }

  /**
   * Returns the bytes of memory in use, without memory that the kernel can reclaim. Returns 0 if
   * the host does not account for it.
   */
  async memoryInUse(): Promise<number> {
    const memory = this.#host.controllers.get('memory')
    return memory === undefined ? 0 : parseMemoryInUse(await readOrEmpty(join(memory, this.path, 'memory.stat')))
  }

  /** Returns the number of processes that the kernel has killed for the runtime's memory limit. */
  async oomKills(): Promise<number> {
    const memory = this.#host.controllers.get('memory')
    if (memory === undefined) return 0
    const file = this.#host.version === 'v2' ? 'memory.events' : 'memory.oom_control'
    return parseOomKills(await readOrEmpty(join(memory, this.path, file)))
  }

  /**
   * Forbids forks, so that a fork bomb cannot outrun the kill. The limit stays and tells later
   * processes that the end has begun.
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

/** Returns the cgroup that holds the cgroups of an installation's runtimes. */
export function cgroupParentOf({
  installationId,
  cgroupParent = `/holt-${installationId}`,
}: Pick<HostEngineOptions, 'installationId' | 'cgroupParent'>): string {
  return cgroupParent
}

/** Removes the cgroup that held the runtimes, if it is empty. */
export async function removeParentCgroup(host: CgroupHost, parent: string): Promise<void> {
  await Promise.all(
    host.hierarchies.map((point) =>
      rmdir(join(point, parent)).catch(() => {
        // Runtimes still run in it, or it never existed.
      }),
    ),
  )
}

/** Returns `oom_kill N` of `memory.events` (version 2) or `memory.oom_control` (version 1). */
export function parseOomKills(text: string): number {
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0)
}

/**
 * Returns the memory in `memory.stat` that is not file cache: `rss` in version 1 is `anon` in
 * version 2. The memory of a gVisor runtime is `shmem`.
 */
export function parseMemoryInUse(text: string): number {
  return [...text.matchAll(/^(?:rss|anon|shmem) (\d+)$/gm)].reduce((sum, [, bytes]) => sum + Number(bytes), 0)
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended meanwhile.
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
