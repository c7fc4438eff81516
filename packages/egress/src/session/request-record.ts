import { ownText } from '@holt/streams'
import type { NamedRule } from '../contract.ts'
import { decideRequest, wholeRule } from '../policy/decide.ts'

/** Characters of the different requests of a connection that are remembered. */
const maxKeptLength = 32 * 1024

/** What has been asked on a connection, so that a new policy can be held against it. */
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
    // Without the rest of the head that it came in.
    const own = ownText(key)
    this.#kept.set(own, { method: own.slice(0, method.length), path: own.slice(method.length + 1) })
  }

  /**
   * True when rules allow everything that was asked. What could not be remembered counts as asked
   * for anything.
   */
  areAllowed(rules: readonly NamedRule[]): boolean {
    if (this.#hasMore && wholeRule(rules) === null) return false
    return [...this.#kept.values()].every(({ method, path }) => decideRequest(rules, method, path).allowed)
  }
}
