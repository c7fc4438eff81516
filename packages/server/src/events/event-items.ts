import { setImmediate } from 'node:timers/promises'
import type { EventItem } from '@holt/protocol'
import { News } from '../news.ts'
import type { Service } from '../service.ts'
import { type EventFilter, eventsAfter, logPosition, presentEvent, reachAfter } from './read-events.ts'

/** How many events are read at once. */
const batch = 500

/** A reader that waits looks this often by itself, also whether there is anything left to wait for. */
const lookMs = 1000

interface Reading {
  readonly cursor: number
  readonly follow: boolean
  /** Ends when the reader is gone. */
  readonly gone: AbortSignal
  /** Whether nothing more can come. */
  readonly isOver?: () => Promise<boolean>
}

/**
 * The events of a log after a cursor: those that are there, and with `follow` those that come. Each is told when it is durable, so that not even a power cut
 * takes back what somebody has seen. What was removed before it could be told is said.
 */
export async function* eventItems(
  service: Service,
  filter: EventFilter,
  { cursor, follow, gone, isOver = async () => false }: Reading,
): AsyncGenerator<EventItem> {
  const { store } = service
  const { projectId } = filter
  let at = cursor
  const news = new News()
  using _watch = service.eventNews.watch(projectId, () => news.come())
  const leave = () => news.come()
  gone.addEventListener('abort', leave)
  try {
    while (!gone.aborted) {
      const start = at
      const over = !follow || (await isOver())
      const { last } = await logPosition(store.db, projectId)
      const rows = last > at ? await eventsAfter(store.db, filter, at, batch) : []
      const { removed } = await logPosition(store.db, projectId)
      if (last > at) await store.settled()
      if (removed > at) {
        yield { type: 'dropped', cursor: removed, dropped_items: removed - at }
        at = removed
      }
      for (const row of rows) {
        if (row.cursor <= at) continue
        at = row.cursor
        yield presentEvent(row)
      }
      if (rows.length === batch) continue
      const reach = reachAfter(filter, start, last)
      at = Math.max(at, reach)
      if (reach < last) {
        // Others have their turn between two looks at a long log.
        await setImmediate()
        continue
      }
      if (over) {
        yield { type: 'end', cursor: at }
        return
      }
      await news.wait(lookMs)
    }
  } finally {
    gone.removeEventListener('abort', leave)
  }
}
