import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError, type RuntimeId } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { hasCode } from '../files/durable-files.ts'
import { cgroupOf, type Host } from '../host/host.ts'
import type { RuntimePaths } from '../installation/layout.ts'
import { endRuntime } from '../lifecycle/watch-runtimes.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'
import { type MemoryLimit, memoryLimitAt } from './memory-limit.ts'
import { MemoryWatcher, type Watched } from './memory-watcher.ts'
import { type EndedProcess, relieveMemory } from './relieve-memory.ts'

/** The pause before the watcher is started again, in milliseconds. */
const RESTART_MS = 1_000

/** The time in which the watcher has to confirm that it watches a runtime, in milliseconds. */
const WATCH_MS = 5_000

/** The bytes above its limit that a runtime may keep in files in memory. */
const TOLERATED_BYTES = 128 * 2 ** 20

/**
 * The time in which a runtime above that has to free memory, and the pause between two checks, in
 * milliseconds.
 */
const COME_BACK_MS = 10_000
const COME_BACK_EVERY_MS = 500

/** The share of the limit above which a runtime may already be stopped when watching begins. */
const LARGE_SHARE = 3 / 4

/** The time in which the guest of such a runtime has to connect, in milliseconds. */
const GO_ON_MS = 30_000

/**
 * The kernel reports a limit before it kills. The count of kills is read after each of these
 * pauses, in milliseconds.
 */
const AFTER_FULL_MS = [20, 100, 500, 1_000]

/**
 * Kills the processes that use up the memory of their runtime, so that the runtime survives. In
 * gVisor all processes are stopped and the guest kills the largest ones. In the class `container`
 * the kernel kills, and the guard only counts. See docs/decisions/005-memory-limits.md.
 */
export class MemoryGuard {
  readonly #host: Host
  readonly #binary: string
  /** The runtimes that are being handled. True if another report arrived since that began. */
  readonly #heard = new Map<RuntimeId, boolean>()
  /** The runtimes that have been relieved and may still be above their limit. */
  readonly #comingBack = new Set<RuntimeId>()
  #watcher: MemoryWatcher
  #closed = false

  constructor(host: Host, binary: string) {
    this.#host = host
    this.#binary = binary
    this.#watcher = this.#start()
    host.runtimes.onRunning = (runtime) => this.#begin(runtime)
    for (const runtime of host.runtimes.all()) if (runtime.record.state === 'running') void this.#begin(runtime)
  }

  /** Ends the watcher. The next engine handles the runtimes that reach their limit meanwhile. */
  close(): void {
    this.#closed = true
    this.#watcher.close()
  }

  #start(): MemoryWatcher {
    return new MemoryWatcher(this.#binary, {
      onFull: (id) => {
        const runtime = this.#host.runtimes.get(id)
        if (runtime !== undefined) void this.#look(runtime)
      },
      onLost: (err) => {
        this.#host.log.warn({ err }, 'memory limits are not watched for a moment')
        void this.#startAgain()
      },
    })
  }

  async #startAgain(): Promise<void> {
    await sleep(RESTART_MS, null, { ref: false })
    if (this.#closed) return
    this.#watcher = this.#start()
    for (const runtime of this.#host.runtimes.all()) if (runtime.record.state === 'running') void this.#begin(runtime)
  }

  /**
   * Begins to watch a runtime, and resolves when that has begun or failed. If it failed, the kernel
   * kills the whole runtime at its limit.
   */
  async #begin(runtime: Runtime): Promise<void> {
    const { id } = runtime.paths
    try {
      const dir = this.#dirOf(runtime)
      if (dir === null) return
      if (runtime.record.spec.isolation !== 'gvisor') return await this.#watch({ id, dir })
      const limit = this.#limitOf(runtime, dir)
      const sandbox = { socket: controlSocketOf(runtime.paths), container: id }
      await this.#watch({
        id,
        dir,
        thresholds: limit.thresholds,
        limit_bytes: limitBytesOf(runtime),
        sandbox,
      })
      await limit.enforce()
      void this.#continueStopped(runtime, limit)
      // The runtime may have crossed its limit before watching began.
      void this.#look(runtime)
    } catch (err) {
      if (this.#lives(runtime)) this.#host.log.warn({ err, runtime: id }, 'the memory of a runtime is not watched')
    }
  }

  async #watch(watched: Watched): Promise<void> {
    const late = sleep(WATCH_MS, null, { ref: false }).then(() => {
      throw new EngineError('failed', 'the memory watcher does not respond')
    })
    await Promise.race([this.#watcher.watch(watched), late])
  }

  /**
   * Continues processes that were stopped before watching began: the earlier watcher was killed, or
   * the runtime's checkpoint was taken meanwhile. Processes that a program had stopped also
   * continue.
   */
  async #continueStopped(runtime: Runtime, limit: MemoryLimit): Promise<void> {
    const limitBytes = limitBytesOf(runtime)
    try {
      if ((await limit.used()) < limitBytes * LARGE_SHARE) return
      const signal = AbortSignal.any([runtime.cancel.signal, AbortSignal.timeout(GO_ON_MS)])
      await runtime.listener.whenConnected(signal)
      const nothing = { limit_bytes: limitBytes, free_bytes: 0, least_bytes: 0, whole: false }
      await new GuestClient(runtime.listener).relieveMemory(nothing, signal)
    } catch {
      // The runtime has ended, or its guest is of a version that never stops processes.
    }
  }

  /** Handles the reports of a runtime until no further one has arrived. */
  async #look(runtime: Runtime): Promise<void> {
    const { id } = runtime.paths
    const isBusy = this.#heard.has(id)
    this.#heard.set(id, true)
    if (isBusy) return
    while (this.#heard.get(id) === true) {
      this.#heard.set(id, false)
      try {
        if (runtime.record.spec.isolation === 'gvisor') await this.#relieve(runtime)
        else await this.#countKills(runtime)
      } catch (err) {
        if (this.#lives(runtime)) this.#host.log.error({ err, runtime: id }, 'cannot check the memory of a runtime')
      }
      this.#watcher.continueRuntime(id)
    }
    this.#heard.delete(id)
  }

  async #relieve(runtime: Runtime): Promise<void> {
    // The guest of a frozen runtime cannot answer, and no process grows. A report follows the thaw.
    if (runtime.frozen || (await this.#relieveOnce(runtime))) return
    // A freeze or a checkpoint may have kept the guest from answering the first time.
    await this.#endUnless(runtime, async () => runtime.frozen || this.#relieveOnce(runtime))
  }

  /** Asks the guest to free memory. Returns false if the runtime is still above its limit. */
  async #relieveOnce(runtime: Runtime): Promise<boolean> {
    const dir = this.#dirOf(runtime)
    if (dir === null) return true
    const limit = this.#limitOf(runtime, dir)
    const relieved = await relieveMemory({
      limit,
      limitBytes: limitBytesOf(runtime),
      link: runtime.listener,
      signal: runtime.cancel.signal,
      onEnded: (ended) => this.#note(runtime, ended.length, ended.at(-1) ?? null),
      onStuck: () => {
        runtime.lacksMemory = true
      },
      onSilent: () => this.#watcher.continueRuntime(runtime.paths.id),
    })
    if (!relieved) return false
    runtime.lacksMemory = false
    void this.#comeBack(runtime, limit)
    return true
  }

  /**
   * Waits until a runtime is close to its limit again. Only its own programs can delete the files
   * in memory that keep it above. Ends the runtime if it stays far above.
   */
  async #comeBack(runtime: Runtime, limit: MemoryLimit): Promise<void> {
    const { id } = runtime.paths
    if (this.#comingBack.has(id)) return
    this.#comingBack.add(id)
    const tolerated = limitBytesOf(runtime) + TOLERATED_BYTES
    const deadline = performance.now() + COME_BACK_MS
    try {
      while (this.#lives(runtime) && !runtime.frozen) {
        const isEnforced = await limit.enforce()
        const isNear = (await limit.used()) <= tolerated
        if (isEnforced && isNear) return
        if (!isNear && performance.now() > deadline) return await this.#endUnless(runtime, async () => false)
        await sleep(COME_BACK_EVERY_MS, null, { ref: false })
      }
    } catch (err) {
      // The cgroup may go with its runtime while it is read.
      if (!this.#lives(runtime) || hasCode(err, 'ENOENT', 'ENODEV')) return
      this.#host.log.error({ err, runtime: id }, 'the memory limit of a runtime is not set')
    } finally {
      this.#comingBack.delete(id)
    }
  }

  /**
   * Ends a runtime that is out of memory, unless `isSpared` resolves to true. The check and the end
   * happen under the runtime's lock.
   */
  async #endUnless(runtime: Runtime, isSpared: () => Promise<boolean>): Promise<void> {
    await this.#host.locks.run(runtime.paths.id, async () => {
      if (!this.#lives(runtime) || (await isSpared())) return
      runtime.lacksMemory = true
      await endRuntime(this.#host, runtime)
    })
  }

  async #countKills(runtime: Runtime): Promise<void> {
    const cgroup = cgroupOf(this.#host, runtime.paths.id)
    for (const waitMs of AFTER_FULL_MS) {
      await sleep(waitMs)
      const kills = await cgroup.oomKills()
      if (kills > runtime.memoryKills.count) return this.#note(runtime, kills - runtime.memoryKills.count, null)
    }
  }

  #note(runtime: Runtime, more: number, last: EndedProcess | null): void {
    if (!this.#lives(runtime)) return
    const { id } = runtime.paths
    this.#host.log.debug({ runtime: id, ended: last }, 'a process was killed because its runtime was out of memory')
    this.#host.runtimes.noteMemoryKills(runtime, more, last)
  }

  #lives(runtime: Runtime): boolean {
    return !this.#closed && this.#host.runtimes.get(runtime.paths.id) === runtime && runtime.record.state === 'running'
  }

  #dirOf({ paths }: Runtime): string | null {
    const point = this.#host.cgroups.controllers.get('memory')
    return point === undefined ? null : join(point, cgroupOf(this.#host, paths.id).path)
  }

  #limitOf(runtime: Runtime, dir: string): MemoryLimit {
    const version = this.#host.cgroups.version === 'v2' ? 'v2' : 'v1'
    return memoryLimitAt(dir, version, limitBytesOf(runtime))
  }
}

/**
 * Returns the path of a sandbox's control socket (gVisor, `controlSocketName` of
 * `runsc/sandbox/sandbox.go`).
 */
function controlSocketOf({ runnerState, id }: RuntimePaths): string {
  return join(runnerState, `runsc-${id}.sock`)
}

function limitBytesOf({ record: { spec } }: Runtime): number {
  return spec.memoryMiB * 2 ** 20
}
