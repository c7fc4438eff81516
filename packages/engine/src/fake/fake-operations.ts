import type { GuestRequest } from '../guest-link.ts'
import type { FakeAnswer } from './fake-guest.ts'

/** As many as the real guest remembers. */
const maxRemembered = 1024

/** What changes something, and is done once for each operation. */
const changing =
  /^\/v1\/(?:processes\/\w+\/(?:stdin|signal|resize)|files\/(?:mkdir|remove|move|copy|symlink|chmod|chown|replace))(?:\?|$)/

/** What a fake guest has answered to operations. */
export class FakeOperations {
  readonly #answers: Map<string, FakeAnswer>

  constructor(answers: ReadonlyMap<string, FakeAnswer> = new Map()) {
    this.#answers = new Map(answers)
  }

  /** The same memory, as a checkpoint has it. */
  copy(): FakeOperations {
    return new FakeOperations(this.#answers)
  }

  /** Forgets everything, as a runtime does that becomes another one. */
  forget(): void {
    this.#answers.clear()
  }

  /**
   * Answers what the request's operation was answered before, or runs it. What fails is not
   * remembered.
   */
  async once({ method, path, headers }: GuestRequest, run: () => Promise<FakeAnswer>): Promise<FakeAnswer> {
    const operation = headers?.['x-holt-operation']
    if (operation === undefined || method !== 'POST' || !changing.test(path)) return run()
    const name = `${operation} ${path}`
    const known = this.#answers.get(name)
    if (known !== undefined) return known
    const answer = await run()
    // The answer of that moment: what it tells of goes on.
    this.#answers.set(name, structuredClone(answer))
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > maxRemembered && oldest !== undefined) this.#answers.delete(oldest)
    return answer
  }
}
