import type { Event, EventItem, EventPage } from '@holt/protocol'
import { eventStream, resumeItems } from './transport/item-stream.ts'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** The filters of events. */
export interface EventFilter {
  /**
   * The types, or patterns for all types of a kind: `build.ready`, `runtime.*`. Default: every
   * type.
   */
  readonly types?: readonly string[]
  /** The id of the thing that the events are about. */
  readonly subject?: string
}

/** The filters and the order of a list of events. */
export interface EventListFilter extends EventFilter {
  /** The order: with `asc` (default) the oldest event is first. */
  readonly order?: 'asc' | 'desc'
  /** Events per page, 1 to 100. */
  readonly limit?: number
  /**
   * The cursor after which the first page begins; with `desc` the cursor before which it begins.
   */
  readonly cursor?: number
}

/** The options for following events. */
export interface FollowEventsOptions extends EventFilter, CallOptions {
  /**
   * The cursor after which the events begin. `latest` (default): only new events. 0: all kept
   * events.
   */
  readonly cursor?: number | 'latest'
}

/**
 * A log of events: that of the key's project, whose cursors are 1, 2, 3 and so on, or that of the
 * hosts of a fleet (`holt.hosts.events`).
 */
export class Events {
  readonly #transport: Transport
  readonly #route: 'listEvents' | 'listHostEvents'
  constructor(transport: Transport, of: 'project' | 'hosts' = 'project') {
    this.#transport = transport
    this.#route = of === 'hosts' ? 'listHostEvents' : 'listEvents'
  }

  /** Lists events. */
  list(filter: EventListFilter = {}, options: CallOptions = {}): Paginated<Event> {
    return paginate((cursor) =>
      this.page({ ...filter, ...(cursor === undefined ? {} : { cursor: Number(cursor) }) }, options),
    )
  }

  /** Reads one page. Its `last_cursor` is the cursor for a later request. */
  async page(filter: EventListFilter = {}, options: CallOptions = {}): Promise<EventPage> {
    const { order, limit, cursor } = filter
    return this.#transport.call(this.#route, { ...options, query: { ...queryOf(filter), order, limit, cursor } })
  }

  /**
   * Yields new events, each once and in order, until the signal or the loop ends it. After a broken
   * connection or a restart of the service it continues after the last event. An item of the type
   * `dropped` gives the number of events that were removed before they could be read.
   */
  async *follow(options: FollowEventsOptions = {}): AsyncGenerator<Event | DroppedEvents, void, undefined> {
    const { signal, cursor: from = 'latest' } = options
    const cursor = from === 'latest' ? await this.#lastCursor(signal) : from
    const open = (after: number) =>
      this.#transport.open(this.#route, {
        signal,
        query: { ...queryOf(options), cursor: after, follow: true },
        headers: { accept: eventStream },
        timeoutMs: null,
      })
    const { resumeTimeoutMs } = this.#transport.options
    for await (const item of resumeItems<EventItem>({ open, cursor, resumeTimeoutMs, signal }))
      if (item.type !== 'end') yield item
  }

  /**
   * Returns the cursor at which following begins. It is needed if the connection breaks before the
   * first event.
   */
  async #lastCursor(signal: AbortSignal | undefined): Promise<number> {
    const query = { cursor: 'latest', limit: 1 }
    return (await this.#transport.call(this.#route, { signal, query })).last_cursor
  }
}

/** The events that were removed before they could be read. */
export type DroppedEvents = Extract<EventItem, { type: 'dropped' }>

/** Returns the query of a filter. */
export function queryOf({ types, subject }: EventFilter): { type: string | undefined; subject: string | undefined } {
  return { type: types === undefined || types.length === 0 ? undefined : types.join(','), subject }
}
