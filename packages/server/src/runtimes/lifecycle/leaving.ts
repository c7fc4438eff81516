/**
 * The runtimes that this host gives to other hosts of its fleet now. Requests for them wait until
 * that is decided. On a machine that is in no fleet there are none.
 */
export class Leaving {
  readonly #underWay = new Map<string, Promise<unknown>>()
  /** True while the host drains: it takes no runtime that belongs to no host. */
  isDraining = false
  /** The things that a drain of this host has not moved, as phrases. Else empty. */
  left: readonly string[] = []
  /** The runtimes that could not leave this host yet, with the reason of the last failure. */
  readonly stuck = new Map<string, string>()

  /** Returns the move of a runtime. It may reject. Null: the runtime stays here. */
  of(runtimeId: string): Promise<unknown> | null {
    return this.#underWay.get(runtimeId) ?? null
  }

  /** Runs `work`, by which a runtime leaves this host. */
  async during<Result>(runtimeId: string, work: () => Promise<Result>): Promise<Result> {
    const move = work()
    this.#underWay.set(runtimeId, move)
    try {
      return await move
    } finally {
      if (this.#underWay.get(runtimeId) === move) this.#underWay.delete(runtimeId)
    }
  }
}
