import type { Decision } from '@holt/egress'
import { keptDecisions } from '@holt/protocol'
import { Watchers } from '../../foundation/async/watchers.ts'
import type { Log } from '../../foundation/log.ts'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import { batches } from '../../foundation/store/batches.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import { type LoggedDecision, loggedDecision } from './logged-decision.ts'

/** The delay of a logged decision, in milliseconds. */
const flushMs = 200

/**
 * The maximum number of waiting decisions of one runtime and of all. Further ones are dropped,
 * which the log shows.
 */
const maxWaiting = { ofOne: 500, ofAll: 4000 }

/** Logs a decision of one runtime. */
export type WriteDecision = (decision: Decision) => void

interface Waiting {
  readonly ref: RuntimeRef
  readonly cursor: number
  readonly item: LoggedDecision
}

/**
 * The decisions of all runtimes, written in batches in the background. The newest 10,000 of each
 * are kept. Each decision has the next cursor of its runtime, even if it is dropped. A gap between
 * cursors is thus the number of missing decisions.
 */
export class DecisionLog {
  readonly #store: Store
  readonly #log: Log
  readonly #readers = new Watchers()
  #waiting: Waiting[] = []
  readonly #waitingOf = new Map<string, number>()
  #timer: NodeJS.Timeout | null = null
  #flushing: Promise<void> = Promise.resolve()

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
  }

  /** Returns the function that logs a runtime's decisions, with cursors after the existing ones. */
  async begin(ref: RuntimeRef): Promise<WriteDecision> {
    await this.flush()
    let cursor = await this.#lastCursor(ref)
    return (decision) => {
      cursor += 1
      this.#add({ ref, cursor, item: loggedDecision(decision) })
    }
  }

  /** Returns up to `limit` decisions after a cursor, as they are in the log, oldest first. */
  async read(
    ref: RuntimeRef,
    after: number,
    limit: number,
  ): Promise<readonly { cursor: number; item: LoggedDecision }[]> {
    const rows = await this.#store.db
      .selectFrom('decisions')
      .select(['cursor', 'item_json'])
      .where('project_id', '=', ref.projectId)
      .where('runtime_id', '=', ref.runtimeId)
      .where('cursor', '>', after)
      .orderBy('cursor')
      .limit(limit)
      .execute()
    return rows.map(({ cursor, item_json }) => ({ cursor, item: JSON.parse(item_json) }))
  }

  /**
   * Returns the cursor of the last decision before a moment in milliseconds, or 0 if none is kept.
   * Cursors follow time, so the number of reads is about the logarithm of the number of decisions.
   */
  async cursorBefore(ref: RuntimeRef, momentMs: number): Promise<number> {
    let before = 0
    for (let end = await this.#lastCursor(ref); before < end; ) {
      const middle = Math.ceil((before + end) / 2)
      const [found] = await this.read(ref, middle - 1, 1)
      if (found !== undefined && Date.parse(found.item.at) < momentMs) before = found.cursor
      else end = middle - 1
    }
    return before
  }

  /**
   * Calls `onWritten` whenever decisions of a runtime have been written, until the result is
   * disposed of.
   */
  watch(runtimeId: string, onWritten: () => void): Disposable {
    return this.#readers.watch(runtimeId, onWritten)
  }

  /** Writes the waiting decisions. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#flushing = this.#flushing.then(() => this.#write())
    await this.#flushing
  }

  /** Returns the newest cursor, or 0 without decisions. */
  async #lastCursor({ projectId, runtimeId }: RuntimeRef): Promise<number> {
    const row = await this.#store.db
      .selectFrom('decisions')
      .select(({ fn }) => fn.max('cursor').as('last'))
      .where('project_id', '=', projectId)
      .where('runtime_id', '=', runtimeId)
      .executeTakeFirst()
    return Number(row?.last ?? 0)
  }

  #add(one: Waiting): void {
    const { runtimeId } = one.ref
    const ofOne = this.#waitingOf.get(runtimeId) ?? 0
    if (ofOne >= maxWaiting.ofOne || this.#waiting.length >= maxWaiting.ofAll) return
    this.#waiting.push(one)
    this.#waitingOf.set(runtimeId, ofOne + 1)
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref()
  }

  async #write(): Promise<void> {
    const batch = this.#waiting
    if (batch.length === 0) return
    this.#waiting = []
    this.#waitingOf.clear()
    const runtimes = new Map(batch.map(({ ref, cursor }) => [ref.runtimeId, { ref, last: cursor }]))
    try {
      await this.#insert(batch, [...runtimes.values()])
    } catch (error) {
      // The network of a runtime does not depend on its log. The gap in the cursors shows the loss.
      this.#log.warn({ err: error, decisions: batch.length }, 'network decisions could not be written')
    }
    for (const runtimeId of runtimes.keys()) this.#readers.notify(runtimeId)
  }

  async #insert(batch: readonly Waiting[], runtimes: readonly { ref: RuntimeRef; last: number }[]): Promise<void> {
    await this.#store.change(aloneWithRow, async (changes) => {
      const ids = runtimes.map(({ ref }) => ref.runtimeId)
      const there = await changes
        .selectFrom('runtimes')
        .select(['runtime_id', 'project_id'])
        .where('runtime_id', 'in', ids)
        .execute()
      const projectOf = new Map(there.map(({ runtime_id, project_id }) => [runtime_id, project_id]))
      // Decisions of a runtime that was deleted meanwhile are omitted.
      const rows = batch
        .filter(({ ref }) => projectOf.get(ref.runtimeId) === ref.projectId)
        .map(({ ref, cursor, item }) => ({
          runtime_id: ref.runtimeId,
          cursor,
          project_id: ref.projectId,
          item_json: JSON.stringify(item),
        }))
      for (const some of batches(rows)) {
        await changes
          .insertInto('decisions')
          .values(some)
          .onConflict((conflict) => conflict.doNothing())
          .execute()
      }
      for (const { ref, last } of runtimes) {
        await changes
          .deleteFrom('decisions')
          .where('project_id', '=', ref.projectId)
          .where('runtime_id', '=', ref.runtimeId)
          .where('cursor', '<=', last - keptDecisions)
          .execute()
      }
    })
  }
}
