import { type Event, EventPage } from '@holt/protocol'
import { expect } from 'vitest'
import { success } from '../../../e2e/support/api.ts'
import type { Ask } from './ask.ts'
import { eventKey } from './ledger.ts'

/**
 * The event log of a project, as its clients read it. An event that was read once must exist ever
 * after.
 */
export class EventLog {
  readonly #ask: Ask
  readonly #events: Event[] = []
  readonly #counts = new Map<string, number>()

  constructor(ask: Ask) {
    this.#ask = ask
  }

  /** Returns all events that were read. */
  get events(): readonly Event[] {
    return this.#events
  }

  /** Returns the number of times that the log has an event, by `eventKey`. */
  count(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  /** Reads the new events, and the last known one again. Cursors are 1, 2, 3 and so on. */
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

  /** Reads the whole log again, and compares it with the events that were read before. */
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
