import { Turns } from '../turns.ts'

/**
 * Children of one project that are created at once. Each keeps a processor busy while it is
 * restored.
 */
const atOnce = 8

/** Bounds the children that each project creates at once, over all of its forks. */
export class ChildTurns {
  readonly #byProject = new Map<string, { readonly turns: Turns; users: number }>()

  /** Runs `work` when it is its turn. */
  async run<Result>(projectId: string, work: () => Promise<Result>): Promise<Result> {
    const project = this.#byProject.get(projectId) ?? { turns: new Turns(atOnce), users: 0 }
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
