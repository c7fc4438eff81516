import type { Store } from '../../foundation/store/open-store.ts'

/** The runtimes that a change adds to the memory promised, by id, in MiB. */
export type Arrivals = ReadonlyMap<string, number>

const none: Arrivals = new Map()

/**
 * The runtimes whose changes are under way and were admitted to this host's memory, oldest first.
 * The changes of two projects do not wait for each other in PostgreSQL, and neither sees the
 * other's row. So a runtime is admitted beside those that came before it. In SQLite no two changes
 * are under way.
 */
export class ArrivalsUnderWay {
  readonly #amounts = new Map<string, number>()

  /**
   * Notes a runtime while its change runs, and returns those before it. A repeated run keeps its
   * place.
   */
  begin({ type }: Pick<Store, 'type'>, runtimeId: string, memoryMiB: number): Arrivals {
    if (type === 'sqlite') return none
    this.#amounts.set(runtimeId, memoryMiB)
    const before = new Map<string, number>()
    for (const [id, amount] of this.#amounts) {
      if (id === runtimeId) break
      before.set(id, amount)
    }
    return before
  }

  /** Runs the change that may admit a runtime. Afterwards others can read its row. */
  async during<Result>(runtimeId: string, change: () => Promise<Result>): Promise<Result> {
    try {
      return await change()
    } finally {
      this.#amounts.delete(runtimeId)
    }
  }
}
