import { service } from '../../e2e/support/facts.ts'
import type { TestRuntime } from '../../e2e/support/test-runtime.ts'
import { type Asked, timesOf } from './answer-times.ts'
import { deleteProject, makeProject } from './own-project.ts'

/** A value for each bystander's request: `true` needs a runtime, `whoami` only the service. */
type PerBystander<Value> = Readonly<Record<'true' | 'whoami', Value>>

/**
 * Two clients that take no part in the attack. One runs `true` in a runtime, and the other asks for
 * its identity from its own project.
 */
export class Bystanders implements AsyncDisposable {
  readonly #asked: PerBystander<Asked>
  readonly #projectId: string

  private constructor(asked: PerBystander<Asked>, projectId: string) {
    this.#asked = asked
    this.#projectId = projectId
  }

  /** Creates the project of the second client. */
  static async make(runtime: TestRuntime): Promise<Bystanders> {
    const { projectId, key } = await makeProject('bystander')
    const runs = {
      method: 'POST',
      path: `${runtime.path}/commands`,
      key: service.key,
      json: { command: 'true' },
    } as const
    return new Bystanders({ true: runs, whoami: { method: 'GET', path: '/v1/agents/whoami', key } }, projectId)
  }

  /**
   * Returns the sorted response times of each client in milliseconds, measured while its condition
   * holds.
   */
  async times(goesOn: PerBystander<(runs: number) => boolean>): Promise<PerBystander<readonly number[]>> {
    const [runs, asks] = await Promise.all([
      timesOf(this.#asked.true, goesOn.true),
      timesOf(this.#asked.whoami, goesOn.whoami),
    ])
    return { true: runs, whoami: asks }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await deleteProject(this.#projectId)
  }
}
