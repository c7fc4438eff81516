import type { Event, EventItem, EventPage } from '@holt/protocol'
import { eventStream, resumeItems } from './item-stream.ts'
import { type Paginated, paginate } from './pages.ts'
import type { CallOptions, Transport } from './transport.ts'

/** Which events. */
export interface EventFilter {
  /** Types, or all of a kind: `build.ready`, `runtime.*`. Default: every type. */
  readonly types?: readonly string[]
  /** Only what happened to the thing with this id. */
  readonly subject?: string
}

/** Which events a list has, and in which order. */
export interface EventListFilter extends EventFilter {
  /** `asc` (default): the oldest first. */
  readonly order?: 'asc' | 'desc'
  /** Events per page, 1 to 100. */
  readonly limit?: number
  /** Where the first page begins: after this cursor, with `desc` before it. */
  readonly cursor?: number
}

/** From where events are followed. */
export interface FollowEventsOptions extends EventFilter, CallOptions {
  /** After this cursor; `latest` (default): what comes from now on; 0: everything that is kept. */
  readonly cursor?: number | 'latest'
}

/** What happened in the project of the key: one log, whose cursors are 1, 2, 3 and so on. */
export class Events {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Lists events. */
  list(filter: EventListFilter = {}, options: CallOptions = {}): Paginated<Event> {
    return paginate((cursor) =>
      this.page({ ...filter, ...(cursor === undefined ? {} : { cursor: Number(cursor) }) }, options),
    )
  }

  /** Reads one page. Its `last_cursor` is the cursor to ask with later. */
  async page(filter: EventListFilter = {}, options: CallOptions = {}): Promise<EventPage> {
    const { order, limit, cursor } = filter
    return this.#transport.call('listEvents', { ...options, query: { ...queryOf(filter), order, limit, cursor } })
  }

  /**
   * Yields what comes, each event once and in order, until the signal or the loop ends it. A
   * connection that breaks is made again after the last event that came, also to a service that was
   * started anew. An item of the type `dropped` says how many events were gone before they could be
   * read.
   */
  async *follow(options: FollowEventsOptions = {}): AsyncGenerator<Event | DroppedEvents, void, undefined> {
    const { signal, cursor: from = 'latest' } = options
    const cursor = from === 'latest' ? await this.#lastCursor(signal) : from
    const open = (after: number) =>
      this.#transport.open('listEvents', {
        signal,
        query: { ...queryOf(options), cursor: after, follow: true },
        headers: { accept: eventStream },
        timeoutMs: null,
      })
    const { resumeTimeoutMs } = this.#transport.options
    for await (const item of resumeItems<EventItem>({ open, cursor, resumeTimeoutMs, signal }))
      if (item.type !== 'end') yield item
  }

  /** A connection that breaks before the first event has to know where it began. */
  async #lastCursor(signal: AbortSignal | undefined): Promise<number> {
    const query = { cursor: 'latest', limit: 1 }
    return (await this.#transport.call('listEvents', { signal, query })).last_cursor
  }
}

/** Events that were no longer kept when they would have been read. */
export type DroppedEvents = Extract<EventItem, { type: 'dropped' }>

/** What a filter is in a query. */
export function queryOf({ types, subject }: EventFilter): { type: string | undefined; subject: string | undefined } {
  return { type: types === undefined || types.length === 0 ? undefined : types.join(','), subject }
}
