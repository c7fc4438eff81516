import type { EventItem } from '@holt/protocol'
import { News } from '../news.ts'
import type { Service } from '../service.ts'
import { giveTurn } from '../store/read-in-turn.ts'
import { type Follower, followLog } from './followers.ts'
import { type EventFilter, presentEvent } from './read-events.ts'

/**
 * A reader that waits looks this often by itself, also whether there is anything left to wait for.
 */
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
 * The events of a log after a cursor: those that are there, and with `follow` those that come. Each
 * is told when it is durable, so that not even a power cut takes back what somebody has seen. What
 * was removed before it could be told is said. Throws at once where too many read the log.
 */
export function eventItems(service: Service, filter: EventFilter, reading: Reading): AsyncGenerator<EventItem> {
  const follower = followLog(service, filter.projectId, reading.gone)
  return items(service, filter, { ...reading, follower })
}

async function* items(
  { eventNews }: Service,
  filter: EventFilter,
  { cursor, follow, gone, isOver = async () => false, follower }: Reading & { readonly follower: Follower },
): AsyncGenerator<EventItem> {
  let at = cursor
  const news = new News()
  using _place = follower
  using _watch = eventNews.watch(filter.projectId, () => news.come())
  const leave = () => news.come()
  gone.addEventListener('abort', leave)
  try {
    while (!gone.aborted) {
      const over = !follow || (await isOver())
      const { rows, reach, last, removed } = await follower.after(filter, at, over)
      if (removed > at) {
        yield { type: 'dropped', cursor: removed, dropped_items: removed - at }
        at = removed
      }
      for (const row of rows) {
        if (row.cursor <= at) continue
        at = row.cursor
        yield presentEvent(row)
      }
      at = Math.max(at, reach)
      if (reach < last) {
        // Others have their turn between two looks at a long log.
        await giveTurn()
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
