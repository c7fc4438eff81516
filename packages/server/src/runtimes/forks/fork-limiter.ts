import { Semaphore } from '@holt/async'

/**
 * The maximum number of children that a project creates at once. Each keeps a processor busy during
 * its restore.
 */
const atOnce = 8

/** Limits the children that each project creates at once, over all of its forks. */
export class ForkLimiter {
  readonly #byProject = new Map<string, { readonly semaphore: Semaphore; users: number }>()

  /** Runs `work` when the limit of the project allows it. */
  async run<Result>(projectId: string, work: () => Promise<Result>): Promise<Result> {
    const project = this.#byProject.get(projectId) ?? { semaphore: new Semaphore(atOnce), users: 0 }
    this.#byProject.set(projectId, project)
    project.users += 1
    try {
      return await project.semaphore.run(work)
    } finally {
      project.users -= 1
      if (project.users === 0) this.#byProject.delete(projectId)
    }
  }
}
