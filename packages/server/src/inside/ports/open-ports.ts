import type { PortStream } from '@holt/guest-client'
import { limitReached } from '../../foundation/errors/limit-reached.ts'

/**
 * The maximum number of open connections of one runtime, of one project and in total. A browser
 * opens six to each host, and a WebSocket for each tab.
 */
export interface PortLimits {
  readonly perRuntime: number
  readonly perProject: number
  readonly total: number
  /** The idle time after which a connection is closed, in milliseconds. */
  readonly idleMs: number
}

const defaults: PortLimits = { perRuntime: 128, perProject: 512, total: 1024, idleMs: 15 * 60_000 }

/** The interval of checks of connections, in milliseconds. */
const sweepMs = 1_000

interface Entry {
  readonly projectId: string
  readonly runtimeId: string
  readonly port: number
  readonly isPublic: boolean
  readonly expiresAt: number | null
  readonly cut: () => void
  stream: PortStream | null
  movedBytes: number
  movedAt: number
}

/** The slot of one connection. */
export interface PortPlace {
  /** Starts to watch the connection. */
  watch(stream: PortStream): void
  leave(): void
}

/** The connections to ports, with their limits. */
export class OpenPorts {
  readonly #entries = new Set<Entry>()
  /** The numbers of connections, by runtime and by project. */
  readonly #counts = new Map<string, number>()
  readonly #limits: PortLimits
  readonly #now: () => number
  #timer: NodeJS.Timeout | null = null
  /**
   * A counter that changes whenever connections are closed. An earlier decision may then be
   * outdated.
   */
  epoch = 0

  constructor(now: () => number, limits: Partial<PortLimits> = {}) {
    this.#now = now
    this.#limits = { ...defaults, ...limits }
  }

  /** The number of connections. */
  get size(): number {
    return this.#entries.size
  }

  /**
   * Takes a slot. Throws `rate_limited` if there is none. `cut` is called when the connection has
   * to end.
   */
  enter(entry: Omit<Entry, 'stream' | 'movedBytes' | 'movedAt'>): PortPlace {
    const { projectId, runtimeId } = entry
    const { perRuntime, perProject, total } = this.#limits
    if (this.#count(runtimeId) >= perRuntime)
      throw limitReached(
        'rate_limited',
        `The runtime's ports have ${perRuntime} open connections, which is the limit.`,
        {
          limit: perRuntime,
        },
      )
    if (this.#count(projectId) >= perProject)
      throw limitReached(
        'rate_limited',
        `The project's ports have ${perProject} open connections, which is the limit.`,
        {
          limit: perProject,
        },
      )
    if (this.#entries.size >= total)
      throw limitReached('rate_limited', `Ports have ${total} open connections, which is the limit.`, {
        limit: total,
      })
    const mine: Entry = { ...entry, stream: null, movedBytes: 0, movedAt: performance.now() }
    this.#entries.add(mine)
    for (const id of [projectId, runtimeId]) this.#counts.set(id, this.#count(id) + 1)
    this.#timer ??= setInterval(() => this.#sweep(), sweepMs).unref()
    const watch = (stream: PortStream) => {
      mine.stream = stream
    }
    return { watch, leave: () => this.#leave(mine) }
  }

  /** Closes the connections to a port, or only those without credentials. */
  cut({ runtimeId, port, onlyPublic = false }: { runtimeId: string; port: number; onlyPublic?: boolean }): void {
    this.epoch += 1
    for (const entry of this.#entries)
      if (entry.runtimeId === runtimeId && entry.port === port && (!onlyPublic || entry.isPublic)) entry.cut()
  }

  /** Closes all connections. */
  close(): void {
    for (const entry of this.#entries) entry.cut()
  }

  #count(id: string): number {
    return this.#counts.get(id) ?? 0
  }

  #leave(entry: Entry): void {
    if (!this.#entries.delete(entry)) return
    for (const id of [entry.projectId, entry.runtimeId]) {
      const left = this.#count(id) - 1
      if (left === 0) this.#counts.delete(id)
      else this.#counts.set(id, left)
    }
    if (this.#entries.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #sweep(): void {
    const now = performance.now()
    for (const entry of this.#entries) {
      const moved = entry.stream?.movedBytes ?? 0
      if (moved !== entry.movedBytes) {
        entry.movedBytes = moved
        entry.movedAt = now
      }
      const expired = entry.expiresAt !== null && entry.expiresAt <= this.#now()
      if (expired || now - entry.movedAt > this.#limits.idleMs) entry.cut()
    }
  }
}
