import { constants, readFileSync, writeFileSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '@holt/engine'
import { hasCode } from '../files/durable-files.ts'
import type { CgroupHost } from './detect-cgroups.ts'

/**
 * The time for a freeze, in milliseconds. It takes a millisecond, but a process in uninterruptible
 * sleep takes as long as a healthy disk.
 */
const SETTLE_TIMEOUT_MS = 5_000

/**
 * The files with which one kind of cgroups freezes: the control file with its values, and the state
 * file that confirms the change.
 */
interface Interface {
  readonly control: string
  readonly frozen: string
  readonly thawed: string
  /** The file with the state, and the patterns of the two final states. */
  readonly state: string
  readonly isFrozen: RegExp
  readonly isThawed: RegExp
}

/**
 * The files of version 1 (Linux `Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst`). A
 * third state, FREEZING, comes in between.
 */
const V1: Interface = {
  control: 'freezer.state',
  frozen: 'FROZEN',
  thawed: 'THAWED',
  state: 'freezer.state',
  isFrozen: /^FROZEN$/m,
  isThawed: /^THAWED$/m,
}

/** The files of version 2 (Linux `Documentation/admin-guide/cgroup-v2.rst`, `cgroup.freeze`). */
const V2: Interface = {
  control: 'cgroup.freeze',
  frozen: '1',
  thawed: '0',
  state: 'cgroup.events',
  isFrozen: /^frozen 1$/m,
  isThawed: /^frozen 0$/m,
}

/** The hierarchy in which this host freezes groups of processes. */
export interface FreezerPlace {
  readonly point: string
  readonly version: 'v1' | 'v2'
}

/**
 * Returns the hierarchy that freezes on this host, or null if there is none. A version 2 tree
 * beside version 1 controllers has no runtimes in it.
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
 * The freezer of one cgroup. Its files are read and written synchronously: no disk is behind them.
 * The threads of asynchronous file access may all wait for a disk, and a thaw would wait with them.
 */
export class CgroupFreezer {
  readonly #interface: Interface
  readonly #dir: string

  constructor({ point, version }: FreezerPlace, path: string) {
    this.#interface = version === 'v1' ? V1 : V2
    this.#dir = join(point, path)
  }

  /** Returns true if every process in the cgroup is frozen. False if there is no cgroup. */
  async isFrozen(): Promise<boolean> {
    return this.#interface.isFrozen.test(this.#read())
  }

  /**
   * Freezes every process in the cgroup, and waits until that has happened. If it does not happen,
   * thaws all and rejects with kind `failed`.
   */
  async freeze(): Promise<void> {
    try {
      // A process that forks at this moment is missed: version 1 looks again with each write.
      await this.#settle(this.#interface.frozen, this.#interface.isFrozen)
    } catch (error) {
      await this.release()
      throw error
    }
  }

  /** Thaws every process in the cgroup, and waits until that has happened. */
  async thaw(): Promise<void> {
    await this.#settle(this.#interface.thawed, this.#interface.isThawed)
  }

  /**
   * Thaws every process without waiting, and accepts a cgroup that does not exist. It is for
   * processes that are about to be killed: a frozen process does not die.
   */
  async release(): Promise<void> {
    try {
      this.#write(this.#interface.thawed)
    } catch {
      // The cgroup is gone, or is being removed.
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
