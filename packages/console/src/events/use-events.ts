import { type Event, type Holt, HoltApiError } from '@holt/sdk'
import { useEffect, useRef, useState } from 'react'
import { useSession } from '../session/session-context.ts'

/** The events of one page of the service. */
const pageSize = 100

/** The maximum number of events that the page keeps. Older ones are read again on demand. */
const mostKept = 5_000

/** The time for which new events are collected before they are shown, in milliseconds. */
const collectMs = 250

/** The time before a broken stream is opened again, in milliseconds. */
const retryMs = 3_000

/** The filters of the page. */
export interface EventQuery {
  /** A type, or a pattern for all types of a kind. Empty: every type. */
  readonly type: string
  /** The id of the thing that the events are about. Empty: everything. */
  readonly subject: string
  readonly follows: boolean
}

/** The events that the page has. */
export interface EventsRead {
  /** The newest first. Undefined before the first answer. */
  readonly events: readonly Event[] | undefined
  readonly error: unknown
  /** The number of events that were removed before they could be read. */
  readonly lost: number
  /** True if the log has older events that match, or that were not examined yet. */
  readonly hasOlder: boolean
  readonly isReading: boolean
  readonly readOlder: () => void
}

interface Kept {
  readonly events: readonly Event[] | undefined
  readonly error: unknown
  readonly lost: number
  /** The cursor before which older events are read. Null: there are none. */
  readonly olderThan: number | null
  readonly isReading: boolean
}

const nothing: Kept = { events: undefined, error: null, lost: 0, olderThan: null, isReading: false }

/** The position of a page in the log. */
interface Position {
  /** The filters for which it holds, as one text. */
  readonly of: string
  /** The cursor of the last event that was shown or skipped. Null: nothing was read yet. */
  after: number | null
}

/**
 * Reads the newest events, and follows new ones. A change of the filters begins again. A pause
 * keeps what is shown, and the events of the pause appear after it.
 */
export function useEvents({ type, subject, follows }: EventQuery): EventsRead {
  const { holt } = useSession()
  const [kept, setKept] = useState(nothing)
  const filter = { ...(type === '' ? {} : { types: [type] }), ...(subject === '' ? {} : { subject }) }
  const reading = useRef<AbortSignal>(null)
  const position = useRef<Position>({ of: '', after: null })
  useEffect(() => {
    const ended = new AbortController()
    reading.current = ended.signal
    const of = JSON.stringify(filter)
    if (position.current.of !== of) {
      position.current = { of, after: null }
      setKept(nothing)
    }
    const { signal } = ended
    void followEvents({ holt, filter, follows, position: position.current, signal, set: setKept })
    return () => ended.abort()
  }, [holt, type, subject, follows])

  const readOlder = () => {
    const { olderThan } = kept
    const signal = reading.current
    if (olderThan === null || kept.isReading || signal === null) return
    // An answer for earlier filters is not shown.
    const change = (part: (before: Kept) => Partial<Kept>) => {
      if (!signal.aborted) setKept((before) => ({ ...before, ...part(before) }))
    }
    change(() => ({ isReading: true }))
    readBefore(holt, filter, olderThan).then(
      (older) => change(({ events = [] }) => ({ ...older, events: [...events, ...older.events], isReading: false })),
      (error) => change(() => ({ error, isReading: false })),
    )
  }
  const { events, error, lost, olderThan, isReading } = kept
  return { events, error, lost, hasOlder: olderThan !== null, isReading, readOlder }
}

interface Filter {
  readonly types?: readonly string[]
  readonly subject?: string
}

interface Following {
  readonly holt: Holt
  readonly filter: Filter
  readonly follows: boolean
  readonly position: Position
  readonly signal: AbortSignal
  readonly set: (change: (before: Kept) => Kept) => void
}

/** Reads the newest page, and then what happens after it, until the signal ends it. */
async function followEvents(following: Following): Promise<void> {
  const { follows, position, signal, set } = following
  while (!signal.aborted) {
    try {
      position.after ??= await readNewest(following)
      if (!follows) return
      set((before) => ({ ...before, error: null }))
      await showNew(following, position.after)
    } catch (error) {
      if (signal.aborted) return
      set((before) => ({ ...before, error }))
      // The filters are wrong, or the session has ended. Another try would fail as well.
      if (error instanceof HoltApiError && error.httpStatus < 500) return
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}

/** Shows the newest page, and returns the cursor after which events are followed. */
async function readNewest({ holt, filter, signal, set }: Following): Promise<number> {
  // The end of the log is read first, so that no event of the meantime is missed.
  const [last] = (await holt.events.page({ order: 'desc', limit: 1 }, { signal })).data
  const after = last?.cursor ?? 0
  const read = await readBefore(holt, filter, after + 1)
  signal.throwIfAborted()
  set((before) => ({ ...before, ...read }))
  return after
}

/** Shows events after a cursor as they happen, several at a time. */
async function showNew({ holt, filter, position, signal, set }: Following, cursor: number): Promise<void> {
  const waiting: Event[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  signal.addEventListener('abort', () => clearTimeout(timer))
  const show = () => {
    timer = undefined
    const news = waiting.splice(0)
    position.after = news.at(-1)?.cursor ?? position.after
    set((before) => withNews(before, news.toReversed()))
  }
  for await (const event of holt.events.follow({ ...filter, cursor, signal })) {
    if (event.type === 'dropped') set((before) => ({ ...before, lost: before.lost + event.dropped_items }))
    else waiting.push(event)
    timer ??= setTimeout(show, collectMs)
  }
}

/** Puts new events before the kept ones. The oldest leave the page, and can be read again. */
function withNews(before: Kept, news: readonly Event[]): Kept {
  const all = [...news, ...(before.events ?? [])]
  const events = all.slice(0, mostKept)
  const oldest = events.at(-1)
  if (events.length === all.length || oldest === undefined) return { ...before, events }
  return { ...before, events, olderThan: oldest.cursor }
}

/** A page of events, and the cursor before which the next one begins. */
interface OlderEvents {
  readonly events: readonly Event[]
  readonly olderThan: number | null
}

async function readBefore(holt: Holt, filter: Filter, before: number): Promise<OlderEvents> {
  const page = await holt.events.page({ ...filter, order: 'desc', limit: pageSize, cursor: before })
  return { events: page.data, olderThan: page.next_cursor === null ? null : Number(page.next_cursor) }
}
