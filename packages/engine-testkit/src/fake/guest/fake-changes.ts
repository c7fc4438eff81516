import { Readable } from 'node:stream'
import type { GuestChange } from '@holt/guest-client'
import type { FakeAnswer } from './fake-answer.ts'
import { line } from './fake-lines.ts'

type Change = Extract<GuestChange, { path: string }>
type WithoutCursor<Item> = Item extends unknown ? Omit<Item, 'cursor'> : never

/** The changes to the files of a fake guest, and their watchers. All changes are kept. */
export class FakeChanges {
  readonly #changes: Change[] = []
  readonly #waiting = new Set<() => void>()
  #stopped = false

  /** Returns a copy with the same changes and without watchers. */
  copy(): FakeChanges {
    const copy = new FakeChanges()
    copy.#changes.push(...this.#changes)
    return copy
  }

  /** Records a change and wakes the watchers. */
  add(change: WithoutCursor<Change>): void {
    this.#changes.push({ ...change, cursor: this.#changes.length + 1 } as Change)
    this.#wake()
  }

  /** Ends every watch, as a guest that dies does. */
  stop(): void {
    this.#stopped = true
    this.#wake()
  }

  watch(query: URLSearchParams): FakeAnswer {
    const path = query.get('path') ?? ''
    const cursor = query.get('cursor')
    const at = cursor === null ? this.#changes.length : Number(cursor)
    const prefix = path === '/' ? '/' : `${path}/`
    const isSeen = (change: Change) =>
      change.path === path ||
      (change.path.startsWith(prefix) &&
        (query.get('recursive') === '1' || !change.path.slice(prefix.length).includes('/')))
    return {
      headers: { 'content-type': 'application/x-ndjson' },
      stream: Readable.from(this.#lines({ path, at, isResumed: cursor !== null, isSeen })),
    }
  }

  async *#lines(watch: {
    path: string
    at: number
    isResumed: boolean
    isSeen: (change: Change) => boolean
  }): AsyncGenerator<Buffer> {
    let { at } = watch
    if (!watch.isResumed) yield line({ type: 'start', cursor: at })
    if (at > this.#changes.length) {
      at = this.#changes.length
      yield line({ type: 'overflow', cursor: at })
    }
    for (; ; at += 1) {
      while (at >= this.#changes.length) {
        if (this.#stopped) return
        await new Promise<void>((resolve) => this.#waiting.add(resolve))
      }
      const change = this.#changes[at]
      if (change === undefined) continue
      if (watch.isSeen(change)) yield line(change)
      if (change.type === 'removed' && change.path === watch.path) {
        yield line({ type: 'end', cursor: change.cursor, reason: 'removed' })
        return
      }
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}
