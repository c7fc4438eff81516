import type { PortStream } from '@holt/engine'
import { HoltError } from '@holt/protocol'

/** How many connections may be open, of one runtime and of all. A browser has six to each host, and a WebSocket for each tab. */
export interface PortLimits {
  readonly perRuntime: number
  readonly total: number
  /** A connection on which nothing moves for this long is cut. */
  readonly idleMs: number
}

const defaults: PortLimits = { perRuntime: 128, total: 1024, idleMs: 15 * 60_000 }

/** How often connections are looked at. */
const sweepMs = 1_000

interface Entry {
  readonly runtimeId: string
  readonly port: number
  readonly isPublic: boolean
  readonly expiresAt: number | null
  readonly cut: () => void
  stream: PortStream | null
  movedBytes: number
  movedAt: number
}

/** One place of a connection. */
export interface PortPlace {
  /** Watches the connection, once it is there. */
  watch(stream: PortStream): void
  leave(): void
}

/** The connections to ports: how many there may be, and when they are cut. */
export class OpenPorts {
  readonly #entries = new Set<Entry>()
  readonly #perRuntime = new Map<string, number>()
  readonly #limits: PortLimits
  readonly #now: () => number
  #timer: NodeJS.Timeout | null = null
  /** Changes whenever connections are cut: a decision from before may be out of date. */
  epoch = 0

  constructor(now: () => number, limits: Partial<PortLimits> = {}) {
    this.#now = now
    this.#limits = { ...defaults, ...limits }
  }

  /** Takes a place, or throws `rate_limited` where there is none. `cut` is called when the connection has to end. */
  enter(entry: Omit<Entry, 'stream' | 'movedBytes' | 'movedAt'>): PortPlace {
    const { runtimeId } = entry
    const ofRuntime = this.#perRuntime.get(runtimeId) ?? 0
    const { perRuntime, total } = this.#limits
    if (ofRuntime >= perRuntime)
      throw new HoltError(
        'rate_limited',
        `The runtime's ports have ${perRuntime} open connections, the most there may be.`,
      )
    if (this.#entries.size >= total)
      throw new HoltError('rate_limited', `Ports have ${total} open connections, the most there may be.`)
    const mine: Entry = { ...entry, stream: null, movedBytes: 0, movedAt: performance.now() }
    this.#entries.add(mine)
    this.#perRuntime.set(runtimeId, ofRuntime + 1)
    this.#timer ??= setInterval(() => this.#sweep(), sweepMs).unref()
    const watch = (stream: PortStream) => {
      mine.stream = stream
    }
    return { watch, leave: () => this.#leave(mine) }
  }

  /** Cuts what is open to a port, or only what came in because the port was public. */
  cut({ runtimeId, port, onlyPublic = false }: { runtimeId: string; port: number; onlyPublic?: boolean }): void {
    this.epoch += 1
    for (const entry of this.#entries)
      if (entry.runtimeId === runtimeId && entry.port === port && (!onlyPublic || entry.isPublic)) entry.cut()
  }

  /** Cuts everything. */
  close(): void {
    for (const entry of this.#entries) entry.cut()
  }

  #leave(entry: Entry): void {
    if (!this.#entries.delete(entry)) return
    const left = (this.#perRuntime.get(entry.runtimeId) ?? 1) - 1
    if (left === 0) this.#perRuntime.delete(entry.runtimeId)
    else this.#perRuntime.set(entry.runtimeId, left)
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
