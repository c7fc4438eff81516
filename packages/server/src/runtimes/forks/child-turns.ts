import { Semaphore } from '@holt/async'

/**
 * The most children that a project creates at once. Each keeps a processor busy during its restore.
 */
const atOnce = 8

/** Limits the children that each project creates at once, over all of its forks. */
export class ChildTurns {
  readonly #byProject = new Map<string, { readonly turns: Semaphore; users: number }>()

  /** Runs `work` in its turn. */
  async run<Result>(projectId: string, work: () => Promise<Result>): Promise<Result> {
    const project = this.#byProject.get(projectId) ?? { turns: new Semaphore(atOnce), users: 0 }
    this.#byProject.set(projectId, project)
    project.users += 1
    try {
      return await project.turns.run(work)
    } finally {
      project.users -= 1
      if (project.users === 0) this.#byProject.delete(projectId)
    }
  }
}
