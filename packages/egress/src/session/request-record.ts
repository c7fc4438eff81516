import { ownText } from '@holt/async'
import type { NamedRule } from '../contract/gateway-contract.ts'
import { decideRequest, wholeRule } from '../policy/decide.ts'

/** The maximum number of characters of a connection's different requests that are remembered. */
const maxKeptLength = 32 * 1024

/** The requests of a connection, against which a new policy is checked. */
export class RequestRecord {
  readonly #kept = new Map<string, { readonly method: string; readonly path: string }>()
  #keptLength = 0
  #hasMore = false

  add(method: string, path: string): void {
    const key = `${method} ${path}`
    if (this.#kept.has(key)) return
    this.#keptLength += key.length
    if (this.#keptLength > maxKeptLength) {
      this.#hasMore = true
      return
    }
    // A copy, which does not keep the rest of the head in memory.
    const own = ownText(key)
    this.#kept.set(own, { method: own.slice(0, method.length), path: own.slice(method.length + 1) })
  }

  /**
   * Returns true if rules allow all requests so far. If some could not be remembered, the rules
   * must allow every request.
   */
  areAllowed(rules: readonly NamedRule[]): boolean {
    if (this.#hasMore && wholeRule(rules) === null) return false
    return [...this.#kept.values()].every(({ method, path }) => decideRequest(rules, method, path).allowed)
  }
}
