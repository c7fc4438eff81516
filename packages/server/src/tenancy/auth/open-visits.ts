import type { RuntimeState } from '@holt/protocol'
import { hasEnded } from '../../foundation/rows/states.ts'

/** Connections, as the functions that reset them. */
export type OpenConnections = readonly (() => void)[]

/**
 * The open connections of E2B's clients to each runtime: streams, terminals, transfers of files,
 * and visits to ports. They are cut when the runtime pauses or ends, before that is answered. Their
 * clients tell by the cut that the runtime is gone. A connection that comes while the runtime is
 * pausing stays: it waits for the pause, and then resumes the runtime.
 */
export class OpenVisits {
  readonly #visits = new Map<string, Set<() => void>>()
  /** The connections that a pause cuts at its end, for each runtime that is pausing. */
  readonly #beforePause = new Map<string, OpenConnections>()

  /** The number of open connections. */
  get size(): number {
    return [...this.#visits.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** The ids of the runtimes with open connections. */
  get visited(): readonly string[] {
    return [...this.#visits.keys()]
  }

  /** Adds a connection. `cut` resets it. Returns the function that removes it. */
  enter(runtimeId: string, cut: () => void): () => void {
    const visits = this.#visits.get(runtimeId) ?? new Set()
    this.#visits.set(runtimeId, visits.add(cut))
    return () => {
      visits.delete(cut)
      if (visits.size === 0 && this.#visits.get(runtimeId) === visits) this.#visits.delete(runtimeId)
    }
  }

  /** Returns the open connections of a runtime. */
  of(runtimeId: string): OpenConnections {
    return [...(this.#visits.get(runtimeId) ?? [])]
  }

  /**
   * Cuts the connections that the new state of a runtime ends. `open` are those from before the
   * state could be seen: a client that sees it may connect at once, and that connection stays.
   */
  follow(runtimeId: string, to: RuntimeState, open: OpenConnections): void {
    const before = this.#beforePause.get(runtimeId) ?? open
    this.#beforePause.delete(runtimeId)
    if (to === 'pausing') this.#beforePause.set(runtimeId, open)
    else if (to === 'paused') for (const cut of before) this.#cutOpen(runtimeId, cut)
    else if (to === 'terminating' || hasEnded(to)) this.cut(runtimeId)
  }

  /** Cuts the connections of a runtime. */
  cut(runtimeId: string): void {
    for (const cut of this.of(runtimeId)) cut()
  }

  #cutOpen(runtimeId: string, cut: () => void): void {
    if (this.#visits.get(runtimeId)?.has(cut) === true) cut()
  }

  /** Cuts all connections. */
  close(): void {
    for (const runtimeId of [...this.#visits.keys()]) this.cut(runtimeId)
  }
}
