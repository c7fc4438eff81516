import { setTimeout as sleep } from 'node:timers/promises'
import { type Ending, EngineError, type RuntimeId } from '@holt/engine'
import { closeEgress } from '../egress/runtime-egress.ts'
import { cgroupOf, type Host } from '../host/host.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'
import { isAlive } from '../tools/process-table.ts'

/**
 * The pause between two checks of every runtime, in milliseconds. It is the fallback: the drop of a
 * connection reports an end at once.
 */
const SWEEP_MS = 2_000

/**
 * The pauses before the checks after a drop, in milliseconds. A runtime that dies cuts its
 * connection some milliseconds before its process is gone.
 */
const AFTER_DROP_MS = [0, 20, 100, 400]

/** Notices runtimes that have ended by themselves. */
export class RuntimeWatch {
  readonly #host: Host
  readonly #timer: NodeJS.Timeout
  readonly #checks = new Set<Promise<void>>()
  #closed = false

  constructor(host: Host) {
    this.#host = host
    this.#timer = setInterval(() => {
      for (const runtime of host.runtimes.all()) this.#track(this.#check(runtime))
    }, SWEEP_MS)
    this.#timer.unref()
    host.runtimes.onDrop = (id) => this.#track(this.#checkAfterDrop(id))
  }

  /** Checks one runtime, and records its end if it has ended. */
  async #check(runtime: Runtime): Promise<void> {
    const { process, state } = runtime.record
    if (this.#closed || state !== 'running' || process === null || (await isAlive(process))) return
    await this.#host.locks.run(runtime.paths.id, async () => {
      if (this.#closed || this.#host.runtimes.get(runtime.paths.id) !== runtime || runtime.record.state !== 'running')
        return
      await endRuntime(this.#host, runtime)
    })
  }

  /** Stops checking, and waits for checks in progress. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    await Promise.all(this.#checks)
  }

  async #checkAfterDrop(id: RuntimeId): Promise<void> {
    for (const waitMs of AFTER_DROP_MS) {
      await sleep(waitMs)
      const runtime = this.#host.runtimes.get(id)
      if (this.#closed || runtime === undefined || runtime.listener.connected) return
      await this.#check(runtime)
    }
  }

  #track(check: Promise<void>): void {
    const tracked = check
      .catch((err: unknown) => this.#host.log.error({ err }, 'cannot check a runtime')) // The next sweep tries again.
      .finally(() => this.#checks.delete(tracked))
    this.#checks.add(tracked)
  }
}

/**
 * Records the end of a runtime and its reason, and kills its remaining processes. Its files stay
 * until it is removed.
 */
export async function endRuntime(host: Host, runtime: Runtime): Promise<void> {
  const cgroup = cgroupOf(host, runtime.paths.id)
  const ending = endingOf(await cgroup.oomKills(), runtime.lacksMemory)
  await cgroup.kill()
  await runtime.listener.close(new EngineError('gone', `runtime ${runtime.paths.id} has ended: ${ending.message}`))
  await closeEgress(runtime)
  await host.runtimes.change(runtime, { state: 'ended', ending })
  host.log.info({ runtime: runtime.paths.id, ending }, 'a runtime has ended')
}

function endingOf(oomKills: number, lacksMemory: boolean): Ending {
  if (lacksMemory) return { reason: 'out_of_memory', message: 'it used more memory than its limit' }
  if (oomKills > 0) return { reason: 'out_of_memory', message: 'the kernel killed it at its memory limit' }
  return { reason: 'crashed', message: 'its first process ended' }
}
