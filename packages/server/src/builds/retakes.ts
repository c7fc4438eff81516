/** The numbers of checkpoints to be taken again since the start of this process. */
export interface RetakeCounts {
  /** Not tried yet, the one in progress included. */
  readonly waiting: number
  readonly taken: number
  /** Runtimes of these templates boot cold until the next start or build. */
  readonly failed: number
  /** Holt does not know how to take them. Runtimes boot cold until the template is built again. */
  readonly unknown: number
}

/**
 * The end of the work on one checkpoint. `gone`: its template was deleted or built meanwhile.
 * `later`: the object store of the fleet is away.
 */
export type RetakeResult = 'taken' | 'failed' | 'unknown' | 'gone' | 'later'

/** Counts the checkpoints that this process takes again. */
export class Retakes {
  readonly #ended = { taken: 0, failed: 0, unknown: 0 }
  #waiting = 0

  get counts(): RetakeCounts {
    return { waiting: this.#waiting, ...this.#ended }
  }

  /** Waits for some checkpoints more. */
  expect(count: number): void {
    this.#waiting += count
  }

  note(result: RetakeResult): void {
    this.#waiting -= 1
    if (result !== 'gone' && result !== 'later') this.#ended[result] += 1
  }

  /** Stops waiting, because the service closes. The next start tries the others. */
  leave(): void {
    this.#waiting = 0
  }
}
