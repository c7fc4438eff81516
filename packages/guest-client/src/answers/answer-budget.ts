import { EngineError, type GuestLink } from '@holt/engine'

/**
 * The maximum memory of the service for all unfinished answers of one guest, in bytes. It suffices
 * for two of the largest answers, or a dozen full pages of files.
 */
const maxBytes = 64 * 1024 * 1024

/**
 * Counts the bytes kept of one guest's unfinished answers. A bound on each single answer does not
 * help if a client sends a thousand requests at once.
 */
export class AnswerBudget {
  #bytes = 0

  /**
   * Counts more bytes. Throws `EngineError` `failed` if that exceeds the budget of one guest. The
   * earlier count stays.
   */
  take(bytes: number): void {
    if (this.#bytes + bytes > maxBytes)
      throw new EngineError('failed', `the guest's unfinished answers are together larger than ${maxBytes} bytes`)
    this.#bytes += bytes
  }

  /** Subtracts bytes that `take` counted. */
  give(bytes: number): void {
    this.#bytes -= bytes
  }
}

const budgets = new WeakMap<GuestLink, AnswerBudget>()

/** Returns the budget of a guest, which all callers of its link share. */
export function budgetOf(link: GuestLink): AnswerBudget {
  const known = budgets.get(link)
  if (known !== undefined) return known
  const budget = new AnswerBudget()
  budgets.set(link, budget)
  return budget
}
