import { RecentMap } from '../../foundation/recent-map.ts'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'

/** The time for which an errand counts, in milliseconds. A create may wait for its image. */
const errandMs = 10 * 60_000

/** The maximum number of errands that are remembered. The oldest is forgotten first. */
const mostKept = 50_000

/**
 * The errands on which this host has sent others lately: the projects of forwarded requests, and
 * the runtimes whose children they make. A worker gets what belongs to a project for an errand
 * only. They are in memory, so a worker asks the host that sent it.
 */
export class Errands {
  readonly #kept = new RecentMap<string, number>(mostKept)
  readonly #monotonic: () => number

  /** `monotonic` returns milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Notes that a host gets a request of a project. */
  note(hostId: string, projectId: string): void {
    this.#kept.set(`${hostId} ${projectId}`, this.#monotonic())
  }

  /** Notes that a host continues the programs of another host's runtime. */
  noteRuntime(hostId: string, { projectId, runtimeId }: RuntimeRef): void {
    this.note(hostId, projectId)
    this.#kept.set(`${hostId} ${projectId} ${runtimeId}`, this.#monotonic())
  }

  /** Returns true if a host works for a project. */
  has(hostId: string, projectId: string): boolean {
    return this.#isFresh(`${hostId} ${projectId}`)
  }

  /** Returns true if a host continues the programs of a runtime. */
  hasRuntime(hostId: string, { projectId, runtimeId }: RuntimeRef): boolean {
    return this.#isFresh(`${hostId} ${projectId} ${runtimeId}`)
  }

  #isFresh(name: string): boolean {
    const at = this.#kept.get(name)
    return at !== undefined && this.#monotonic() - at < errandMs
  }
}
