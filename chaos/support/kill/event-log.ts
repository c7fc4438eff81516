import { type Event, EventPage } from '@holt/protocol'
import { expect } from 'vitest'
import { success } from '../../../e2e/support/api.ts'
import type { Ask } from './ask.ts'
import { eventKey } from './ledger.ts'

/**
 * The log of events of a project, as its clients read it. What was read once has to be there ever
 * after.
 */
export class EventLog {
  readonly #ask: Ask
  readonly #events: Event[] = []
  readonly #counts = new Map<string, number>()

  constructor(ask: Ask) {
    this.#ask = ask
  }

  /** All that was read. */
  get events(): readonly Event[] {
    return this.#events
  }

  /** How often the log has an event, by `eventKey`. */
  count(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  /** Reads what has come, and the last that was read once more. Cursors are 1, 2, 3 and so on. */
  async read(): Promise<void> {
    const [last] = this.#events.slice(-1)
    const fresh = await this.#after(Math.max(0, this.#events.length - 1))
    if (last !== undefined) expect(fresh.shift(), 'the last event that was read').toEqual(last)
    for (const event of fresh) {
      this.#events.push(event)
      expect(event.cursor, 'the cursors of events have no gap').toBe(this.#events.length)
      const { type, subject, data } = event
      for (const key of new Set([
        eventKey(type, subject.id),
        eventKey(type, subject.id, data.revision ?? data.version),
      ]))
        this.#counts.set(key, this.count(key) + 1)
    }
  }

  /** Reads all of it from its beginning, and holds it against what was read piece by piece. */
  async readAgain(): Promise<void> {
    expect(await this.#after(0)).toEqual(this.#events)
  }

  async #after(from: number): Promise<Event[]> {
    const events: Event[] = []
    for (let cursor: number | string | null = from; cursor !== null; ) {
      const answer = await this.#ask('GET', '/v1/agents/event', { query: { limit: 100, cursor } })
      const page = success(answer, 200, EventPage)
      events.push(...page.data)
      cursor = page.next_cursor
    }
    return events
  }
}
