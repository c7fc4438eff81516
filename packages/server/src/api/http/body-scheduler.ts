import { setTimeout as pause } from 'node:timers/promises'
import { FairQueue } from './fair-queue.ts'

/**
 * A project rests for this many times the processor time that the work on one of its bodies took.
 * That work takes at most a quarter of the thread.
 */
const restFactor = 3

/**
 * Divides the thread among large request bodies. The event loop continues one body in each turn,
 * and takes projects in rotation. Other requests wait for one body at most, not for all.
 */
export class BodyScheduler {
  readonly #queue = new FairQueue(1)
  /** Per project, ends after its last work and the rest that follows. */
  readonly #work = new Map<string, Promise<void>>()

  /** Waits for a turn of the event loop in which no other body continues. */
  next(projectId: string): Promise<void> {
    return new Promise((resolve) =>
      this.#queue.add(projectId, () => {
        resolve()
        return true
      }),
    )
  }

  /**
   * Does synchronous work on a body in a turn of its own. Returns its result, or throws its error.
   * The next work of the same project follows after a rest in proportion.
   */
  run<Result>(projectId: string, work: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const before = this.#work.get(projectId) ?? Promise.resolve()
    const after = before.then(async () => {
      await this.next(projectId)
      const begun = process.threadCpuUsage()
      try {
        resolve(work())
      } catch (error) {
        reject(error)
      }
      const { user, system } = process.threadCpuUsage(begun)
      await pause((restFactor * (user + system)) / 1000, undefined, { ref: false })
      if (this.#work.get(projectId) === after) this.#work.delete(projectId)
    })
    this.#work.set(projectId, after)
    return promise
  }
}
