import type { ServerResponse } from 'node:http'

/**
 * Tells when a request is over: its answer has ended or its client is gone, and nothing works for
 * it any more. What is counted for it counts until then: whoever sends much, hangs up and sends
 * again would else have as much kept as there are requests that wait for something.
 */
export class RequestEnd {
  #parts: number
  #listeners: (() => void)[] = []

  constructor(response: ServerResponse) {
    this.#parts = response.destroyed ? 0 : 1
    if (!response.destroyed) response.once('close', () => this.#leave())
  }

  /** Works for the request until it is disposed of. */
  work(): Disposable {
    this.#parts += 1
    return { [Symbol.dispose]: () => this.#leave() }
  }

  /** Calls `listener` when it is over, at once where it is. */
  once(listener: () => void): void {
    if (this.#parts === 0) listener()
    else this.#listeners.push(listener)
  }

  #leave(): void {
    this.#parts -= 1
    if (this.#parts > 0) return
    for (const listener of this.#listeners.splice(0)) listener()
  }
}
