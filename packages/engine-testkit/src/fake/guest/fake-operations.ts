import type { GuestRequest } from '@holt/engine'
import type { FakeAnswer } from './fake-answer.ts'

/** The number of operations that the real guest remembers. */
const maxRemembered = 1024

/** The paths that change something, and run once for each operation. */
const changing =
  /^\/v1\/(?:processes\/\w+\/(?:stdin|signal|resize)|files\/(?:mkdir|remove|move|copy|symlink|chmod|chown|replace))(?:\?|$)/

/** The answers of a fake guest, by operation. */
export class FakeOperations {
  readonly #answers: Map<string, FakeAnswer>

  constructor(answers: ReadonlyMap<string, FakeAnswer> = new Map()) {
    this.#answers = new Map(answers)
  }

  /** Returns a copy, as a checkpoint has it. */
  copy(): FakeOperations {
    return new FakeOperations(this.#answers)
  }

  /** Forgets everything, as a runtime does when it gets another identity. */
  forget(): void {
    this.#answers.clear()
  }

  /**
   * Returns the earlier answer for the request's operation, or runs it. Failures are not
   * remembered.
   */
  async once({ method, path, headers }: GuestRequest, run: () => Promise<FakeAnswer>): Promise<FakeAnswer> {
    const operation = headers?.['x-holt-operation']
    if (operation === undefined || method !== 'POST' || !changing.test(path)) return run()
    const name = `${operation} ${path}`
    const known = this.#answers.get(name)
    if (known !== undefined) return known
    const answer = await run()
    // Cloned, because the process in the answer continues to change.
    this.#answers.set(name, structuredClone(answer))
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > maxRemembered && oldest !== undefined) this.#answers.delete(oldest)
    return answer
  }
}
