import type { RuntimeRow } from '../../foundation/store/tables.ts'

/**
 * The kind of a transition out of memory or back. A `pause of files` discards the memory, and a
 * `loss of memory` that of a paused runtime. A `recovery` finishes interrupted work with an open
 * result, so requests for the other kinds do not join it.
 */
export type TransitionKind = 'pause' | 'pause of files' | 'loss of memory' | 'resume' | 'recovery'

interface Transition {
  readonly kind: TransitionKind
  readonly controller: AbortController
  readonly result: Promise<RuntimeRow>
}

/**
 * The pauses, resumes and recoveries in progress in this process. Those of one runtime run one
 * after another. A request joins the last one if it is of the same kind.
 */
export class Transitions {
  readonly #underWay = new Map<string, readonly Transition[]>()

  /**
   * Runs a transition, or joins the last one of the same kind. Its signal is aborted when it is
   * stopped.
   */
  run(
    runtimeId: string,
    kind: TransitionKind,
    work: (stopped: AbortSignal) => Promise<RuntimeRow>,
  ): Promise<RuntimeRow> {
    const before = this.#of(runtimeId)
    const last = before.at(-1)
    if (last?.kind === kind) return last.result
    const controller = new AbortController()
    const { signal } = controller
    const result = (async () => {
      // The callers of the previous transition get its error.
      if (last !== undefined) await last.result.catch(() => {})
      signal.throwIfAborted()
      return work(signal)
    })()
    const mine: Transition = { kind, controller, result }
    this.#underWay.set(runtimeId, [...before, mine])
    const drop = () => {
      const left = this.#of(runtimeId).filter((transition) => transition !== mine)
      if (left.length === 0) this.#underWay.delete(runtimeId)
      else this.#underWay.set(runtimeId, left)
    }
    result.then(drop, drop)
    return result
  }

  has(runtimeId: string): boolean {
    return this.#underWay.has(runtimeId)
  }

  /** The number of runtimes whose memory comes back now. */
  get resuming(): number {
    const comesBack = ({ kind }: Transition) => kind === 'resume' || kind === 'loss of memory'
    return [...this.#underWay.values()].filter((all) => all.some(comesBack)).length
  }

  /** Resolves when a runtime has no transition in progress. */
  async settled(runtimeId: string): Promise<void> {
    while (this.has(runtimeId)) await Promise.allSettled(this.#of(runtimeId).map(({ result }) => result))
  }

  /**
   * Stops the transitions of a runtime and waits until they have released it. Resolves at once if
   * there is none.
   */
  async stop(runtimeId: string): Promise<void> {
    for (const { controller } of this.#of(runtimeId)) controller.abort(new Error('the runtime is deleted'))
    await this.settled(runtimeId)
  }

  /**
   * Resolves when no transition is in progress. The end of the service waits for that, because an
   * incomplete checkpoint could be lost.
   */
  async close(): Promise<void> {
    while (this.#underWay.size > 0)
      await Promise.allSettled([...this.#underWay.values()].flatMap((all) => all.map(({ result }) => result)))
  }

  #of(runtimeId: string): readonly Transition[] {
    return this.#underWay.get(runtimeId) ?? []
  }
}
