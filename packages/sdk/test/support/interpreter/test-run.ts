/** An item of a run, in the words of the wire. */
export interface RunItem {
  readonly type: string
  readonly cursor: number
  readonly [field: string]: unknown
}

/** The ends of a run that come from outside of its code. */
export type Stop = 'interrupted' | 'timed_out' | 'kernel_died'

/** A run of code: its items so far, and their followers. */
export class TestRun {
  readonly id: string
  readonly contextId: string
  readonly items: RunItem[] = []
  /** Resolves when something ends the run from outside. */
  readonly stopped: Promise<Stop>
  readonly stop: (how: Stop) => void
  #changed = Promise.withResolvers<void>()

  constructor(id: string, contextId: string) {
    this.id = id
    this.contextId = contextId
    const { promise, resolve } = Promise.withResolvers<Stop>()
    this.stopped = promise
    this.stop = resolve
  }

  /** True after the last item. */
  get hasEnded(): boolean {
    return this.items.at(-1)?.type === 'end'
  }

  /** Adds an item. Its cursor is its number, from 0. */
  add(item: { readonly type: string } & Readonly<Record<string, unknown>>): void {
    this.items.push({ ...item, cursor: this.items.length })
    this.#changed.resolve()
    this.#changed = Promise.withResolvers<void>()
  }

  /** Yields the items after a cursor, until the end. -1: all of them. */
  async *follow(cursor = -1): AsyncGenerator<RunItem> {
    for (let at = cursor + 1; ; at += 1) {
      while (at >= this.items.length) await this.#changed.promise
      const item = this.items[at]
      if (item === undefined) return
      yield item
      if (item.type === 'end') return
    }
  }
}
