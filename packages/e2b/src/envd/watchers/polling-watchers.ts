import { randomBytes } from 'node:crypto'
import { ConnectError } from '../../errors/connect-error.ts'

/** The message of one change. */
export interface WatchEvent {
  readonly name: string
  readonly type: string
  readonly entry?: object
}

/** The bounds on watchers that clients poll. */
export interface PollingLimits {
  /** The maximum number of watchers of one sandbox. */
  readonly perSandbox: number
  /** The maximum number of events that one watcher keeps. */
  readonly maxEvents: number
  /**
   * The maximum number of bytes of events that the watchers of one sandbox keep, and those of all.
   */
  readonly sandboxBytes: number
  readonly totalBytes: number
  /** The time without a poll after which a watcher is dropped, in milliseconds. */
  readonly unusedMs: number
}

const defaults: PollingLimits = {
  perSandbox: 256,
  maxEvents: 4096,
  sandboxBytes: 16 * 1024 * 1024,
  totalBytes: 128 * 1024 * 1024,
  unusedMs: 10 * 60_000,
}

interface Watcher {
  readonly events: WatchEvent[]
  readonly over: AbortController
  readonly timer: NodeJS.Timeout
  bytes: number
  /** True if events were lost since the last poll. */
  lost: boolean
}

/** The watchers of one sandbox. */
interface Group {
  readonly watchers: Map<string, Watcher>
  /** The watchers whose directories are being opened. */
  opening: number
  bytes: number
}

/** The watchers that clients poll. They live in memory: after a restart no client finds its own. */
export class PollingWatchers {
  readonly #groups = new Map<string, Group>()
  readonly #limits: PollingLimits
  #bytes = 0

  constructor(limits: Partial<PollingLimits> = {}) {
    this.#limits = { ...defaults, ...limits }
  }

  /** The number of watchers. */
  get size(): number {
    return [...this.#groups.values()].reduce((sum, { watchers }) => sum + watchers.size, 0)
  }

  /**
   * Makes a watcher of the events that `open` resolves to, and returns its id. The signal of `open`
   * aborts when the watcher is dropped.
   */
  async create(sandboxId: string, open: (signal: AbortSignal) => Promise<AsyncIterable<WatchEvent>>): Promise<string> {
    const group = this.#enter(sandboxId)
    const over = new AbortController()
    try {
      const events = await open(over.signal)
      const id = randomBytes(12).toString('hex')
      const timer = setTimeout(() => this.#drop(sandboxId, id), this.#limits.unusedMs).unref()
      const watcher: Watcher = { events: [], over, timer, bytes: 0, lost: false }
      group.watchers.set(id, watcher)
      void this.#collect(group, watcher, events).catch(() => {
        // The watch has ended with the sandbox, or changes were lost. A poll finds no watcher then.
        if (!over.signal.aborted) this.#drop(sandboxId, id)
      })
      return id
    } catch (error) {
      // A watch that is half open ends.
      over.abort()
      throw error
    } finally {
      group.opening -= 1
      this.#tidy(sandboxId, group)
    }
  }

  /** Returns the events since the last poll. Throws `resource_exhausted` once if some were lost. */
  take(sandboxId: string, id: string): readonly WatchEvent[] {
    const group = this.#groups.get(sandboxId)
    const watcher = group?.watchers.get(id)
    if (group === undefined || watcher === undefined) throw unknownWatcher(id)
    watcher.timer.refresh()
    const events = watcher.events.splice(0)
    this.#count(group, watcher, -watcher.bytes)
    if (!watcher.lost) return events
    watcher.lost = false
    throw new ConnectError('resource_exhausted', 'Events were lost: there were too many since the last poll.')
  }

  /** Drops a watcher. */
  remove(sandboxId: string, id: string): void {
    if (!this.#drop(sandboxId, id)) throw unknownWatcher(id)
  }

  /** Drops all watchers. */
  close(): void {
    for (const [sandboxId, { watchers }] of this.#groups)
      for (const id of [...watchers.keys()]) this.#drop(sandboxId, id)
  }

  #enter(sandboxId: string): Group {
    const group = this.#groups.get(sandboxId) ?? { watchers: new Map<string, Watcher>(), opening: 0, bytes: 0 }
    const { perSandbox } = this.#limits
    if (group.watchers.size + group.opening >= perSandbox)
      throw new ConnectError('resource_exhausted', `A sandbox may have ${perSandbox} watchers. Remove some.`)
    group.opening += 1
    this.#groups.set(sandboxId, group)
    return group
  }

  async #collect(group: Group, watcher: Watcher, events: AsyncIterable<WatchEvent>): Promise<void> {
    const { maxEvents, sandboxBytes, totalBytes } = this.#limits
    for await (const event of events) {
      if (watcher.over.signal.aborted) return
      const bytes = JSON.stringify(event).length
      const isFull = watcher.events.length >= maxEvents
      if (isFull || group.bytes + bytes > sandboxBytes || this.#bytes + bytes > totalBytes) {
        watcher.events.length = 0
        this.#count(group, watcher, -watcher.bytes)
        watcher.lost = true
      }
      if (watcher.lost) continue
      watcher.events.push(event)
      this.#count(group, watcher, bytes)
    }
  }

  #count(group: Group, watcher: Watcher, bytes: number): void {
    watcher.bytes += bytes
    group.bytes += bytes
    this.#bytes += bytes
  }

  #drop(sandboxId: string, id: string): boolean {
    const group = this.#groups.get(sandboxId)
    const watcher = group?.watchers.get(id)
    if (group === undefined || watcher === undefined) return false
    clearTimeout(watcher.timer)
    watcher.over.abort()
    this.#count(group, watcher, -watcher.bytes)
    group.watchers.delete(id)
    this.#tidy(sandboxId, group)
    return true
  }

  #tidy(sandboxId: string, { watchers, opening }: Group): void {
    if (watchers.size === 0 && opening === 0) this.#groups.delete(sandboxId)
  }
}

function unknownWatcher(id: string): ConnectError {
  return new ConnectError('not_found', `watcher with id ${JSON.stringify(id.slice(0, 100))} not found`)
}
