import { EngineError } from '../contract.ts'
import type { GuestLink } from '../guest-link.ts'

/**
 * What all unfinished answers of one guest may take of the service's memory: two of the largest, or
 * a dozen full pages of files.
 */
const maxBytes = 64 * 1024 * 1024

/**
 * Counts the bytes that are kept of one guest's unfinished answers: a bound of each answer alone is
 * none where a client asks a thousand times at once.
 */
export class AnswerBudget {
  #bytes = 0

  /**
   * Counts more. Throws `EngineError` `failed` where that is more than one guest may have; what was
   * counted before stays.
   */
  take(bytes: number): void {
    if (this.#bytes + bytes > maxBytes)
      throw new EngineError('failed', `the guest's unfinished answers are together larger than ${maxBytes} bytes`)
    this.#bytes += bytes
  }

  /** Gives back what was taken. */
  give(bytes: number): void {
    this.#bytes -= bytes
  }
}

const budgets = new WeakMap<GuestLink, AnswerBudget>()

/** The budget of a guest, the same one for whoever speaks over its link. */
export function budgetOf(link: GuestLink): AnswerBudget {
  const known = budgets.get(link)
  if (known !== undefined) return known
  const budget = new AnswerBudget()
  budgets.set(link, budget)
  return budget
}
