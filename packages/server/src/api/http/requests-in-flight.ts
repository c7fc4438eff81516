import { limitReached } from '../../foundation/errors/limit-reached.ts'
import type { RequestEnd } from '../../foundation/wire/request-end.ts'

/**
 * The requests and streams in progress of each project. Their limit keeps one project from using
 * all connections.
 */
export class RequestsInFlight {
  readonly #most: number
  readonly #byProject = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Counts a request until it ends. Throws `rate_limited` if there are too many. */
  enter(projectId: string, end: RequestEnd): void {
    const before = this.#byProject.get(projectId) ?? 0
    if (before >= this.#most)
      throw limitReached(
        'rate_limited',
        `The project has ${this.#most} requests and streams under way, which is the limit.`,
        { limit: this.#most },
      )
    this.#byProject.set(projectId, before + 1)
    end.once(() => this.#leave(projectId))
  }

  #leave(projectId: string): void {
    const left = (this.#byProject.get(projectId) ?? 1) - 1
    if (left === 0) this.#byProject.delete(projectId)
    else this.#byProject.set(projectId, left)
  }
}
