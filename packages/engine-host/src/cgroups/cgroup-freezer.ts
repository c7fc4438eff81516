import { constants, readFileSync, writeFileSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '@holt/engine'
import { hasCode } from '../tools/durable-files.ts'
import type { CgroupHost } from './detect-cgroups.ts'

/**
 * Freezing takes a millisecond; a process in uninterruptible sleep is waited for as long as a
 * healthy disk takes.
 */
const SETTLE_TIMEOUT_MS = 5_000

/**
 * The files with which one kind of cgroups freezes: what is written, and what says that it has
 * happened.
 */
interface Interface {
  readonly control: string
  readonly frozen: string
  readonly thawed: string
  /** Where the state stands, and the text that is in it when all stand still. */
  readonly state: string
  readonly isFrozen: RegExp
  readonly isThawed: RegExp
}

/**
 * Linux `Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst`: a third state, FREEZING, is on
 * the way.
 */
const V1: Interface = {
  control: 'freezer.state',
  frozen: 'FROZEN',
  thawed: 'THAWED',
  state: 'freezer.state',
  isFrozen: /^FROZEN$/m,
  isThawed: /^THAWED$/m,
}

/** Linux `Documentation/admin-guide/cgroup-v2.rst`, `cgroup.freeze`. */
const V2: Interface = {
  control: 'cgroup.freeze',
  frozen: '1',
  thawed: '0',
  state: 'cgroup.events',
  isFrozen: /^frozen 1$/m,
  isThawed: /^frozen 0$/m,
}

/** Where this host freezes groups of processes. */
export interface FreezerPlace {
  readonly point: string
  readonly version: 'v1' | 'v2'
}

/**
 * The hierarchy that freezes on this host; null when none does. A version 2 tree beside version 1
 * controllers has no runtimes in it.
 */
export async function findFreezer(host: CgroupHost): Promise<FreezerPlace | null> {
  const v1 = host.controllers.get('freezer')
  const [point] = v1 === undefined && host.version === 'v2' ? host.hierarchies : [v1]
  if (point === undefined) return null
  try {
    await access(point, constants.W_OK)
  } catch {
    return null // Read-only, as in a container.
  }
  return { point, version: v1 === undefined ? 'v2' : 'v1' }
}

/**
 * The freezer of one cgroup. Its files are read and written at once: no disk is behind them, while
 * the threads that files are else used in may all wait for one, and who wants a runtime to go on
 * with them.
 */
export class CgroupFreezer {
  readonly #interface: Interface
  readonly #dir: string

  constructor({ point, version }: FreezerPlace, path: string) {
    this.#interface = version === 'v1' ? V1 : V2
    this.#dir = join(point, path)
  }

  /** Whether everything in it stands still. No cgroup does not. */
  async isFrozen(): Promise<boolean> {
    return this.#interface.isFrozen.test(this.#read())
  }

  /**
   * Has everything in it stand still, and waits until it does. Kind `failed` when it does not, and
   * then all goes on.
   */
  async freeze(): Promise<void> {
    try {
      // What forks just then is missed: version 1 looks again with each write.
      await this.#settle(this.#interface.frozen, this.#interface.isFrozen)
    } catch (error) {
      await this.release()
      throw error
    }
  }

  /** Has everything in it go on. */
  async thaw(): Promise<void> {
    await this.#settle(this.#interface.thawed, this.#interface.isThawed)
  }

  /**
   * Has everything in it go on, a cgroup that is not there included. For those about to be killed:
   * a frozen process does not die.
   */
  async release(): Promise<void> {
    try {
      this.#write(this.#interface.thawed)
    } catch {
      // It is gone, or on its way.
    }
  }

  async #settle(wanted: string, isSettled: RegExp): Promise<void> {
    const deadline = performance.now() + SETTLE_TIMEOUT_MS
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
      this.#write(wanted)
      const state = this.#read()
      if (isSettled.test(state)) return
      if (performance.now() > deadline)
        throw new EngineError('failed', `${this.#dir} does not become ${wanted}: ${state.trim()}`)
      await sleep(waitMs)
    }
  }

  #write(text: string): void {
    try {
      writeFileSync(join(this.#dir, this.#interface.control), text)
    } catch (cause) {
      const kind = hasCode(cause, 'ENOENT', 'ENODEV') ? 'gone' : 'failed'
      throw new EngineError(kind, `cannot write ${text} to ${this.#dir}`, { cause })
    }
  }

  #read(): string {
    try {
      return readFileSync(join(this.#dir, this.#interface.state), 'utf8')
    } catch {
      return '' // No cgroup, no state.
    }
  }
}
