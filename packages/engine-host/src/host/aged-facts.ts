import type { EngineFacts } from '@holt/engine'

/**
 * A host changes slowly, and callers ask for each request: older facts are looked at anew, and
 * nobody waits for that.
 */
const FACTS_AGE_MS = 2_000

/** Facts that are older than this are not answered any more. */
const FACTS_MAX_AGE_MS = 10_000

/** The facts of a host, looked at no more often than every other second. */
export class AgedFacts {
  readonly #look: () => Promise<EngineFacts>
  readonly #onFailure: (error: unknown) => void
  #refreshing = false
  #facts: { readonly at: number; readonly value: Promise<EngineFacts> } | null = null

  /** `onFailure` gets the error of a look that nobody waits for. */
  constructor(look: () => Promise<EngineFacts>, onFailure: (error: unknown) => void) {
    this.#look = look
    this.#onFailure = onFailure
  }

  get(): Promise<EngineFacts> {
    const age = this.#facts === null ? Number.POSITIVE_INFINITY : performance.now() - this.#facts.at
    if (this.#facts !== null && age <= FACTS_MAX_AGE_MS) {
      if (age > FACTS_AGE_MS && !this.#refreshing) void this.#refresh()
      return this.#facts.value
    }
    const facts = { at: performance.now(), value: this.#look() }
    facts.value.catch(() => {
      // The caller sees the reason. The next caller has it looked at again.
      if (this.#facts === facts) this.#facts = null
    })
    this.#facts = facts
    return facts.value
  }

  /** Forgets the facts: the next caller gets new ones. */
  forget(): void {
    this.#facts = null
  }

  /** Looks at the host beside callers, who get the facts of before. */
  async #refresh(): Promise<void> {
    const at = performance.now()
    this.#refreshing = true
    try {
      this.#facts = { at, value: Promise.resolve(await this.#look()) }
    } catch (error) {
      // The facts of before hold until they are too old; then the caller sees the reason.
      this.#onFailure(error)
    } finally {
      this.#refreshing = false
    }
  }
}
