import type { ServerResponse } from 'node:http'

/**
 * The end of a request: its answer has ended or its client is gone, and no work for it is left. A
 * request and its memory count until then. Otherwise a client could send much, disconnect and send
 * again, and the service would keep all of it.
 */
export class RequestEnd {
  #parts: number
  #listeners: (() => void)[] = []

  constructor(response: ServerResponse) {
    this.#parts = response.destroyed ? 0 : 1
    if (!response.destroyed) response.once('close', () => this.#leave())
  }

  /** Keeps the request from ending until the returned object is disposed. */
  work(): Disposable {
    this.#parts += 1
    return { [Symbol.dispose]: () => this.#leave() }
  }

  /** Calls `listener` when the request ends, or at once if it has ended. */
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
