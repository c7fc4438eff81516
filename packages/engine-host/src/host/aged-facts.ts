import type { EngineFacts } from '@holt/engine'

/**
 * The age from which facts are refreshed in the background, in milliseconds. A host changes slowly,
 * and callers ask for each request.
 */
const FACTS_AGE_MS = 2_000

/** The age from which facts are not returned any more, in milliseconds. */
const FACTS_MAX_AGE_MS = 10_000

/** The facts of a host, read at most every other second. */
export class AgedFacts {
  readonly #look: () => Promise<EngineFacts>
  readonly #onFailure: (error: unknown) => void
  #refreshing = false
  #facts: { readonly at: number; readonly value: Promise<EngineFacts> } | null = null

  /** `onFailure` gets the error of a background refresh. */
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
      // The caller gets the reason. The next caller causes a new read.
      if (this.#facts === facts) this.#facts = null
    })
    this.#facts = facts
    return facts.value
  }

  /** Forgets the facts: the next caller gets new ones. */
  forget(): void {
    this.#facts = null
  }

  /** Reads the host in the background, while callers get the earlier facts. */
  async #refresh(): Promise<void> {
    const at = performance.now()
    this.#refreshing = true
    try {
      this.#facts = { at, value: Promise.resolve(await this.#look()) }
    } catch (error) {
      // The earlier facts are valid until they are too old. Then the caller gets the reason.
      this.#onFailure(error)
    } finally {
      this.#refreshing = false
    }
  }
}
