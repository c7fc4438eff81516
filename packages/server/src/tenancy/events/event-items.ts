import type { EventItem } from '@holt/protocol'
import { Notification } from '../../foundation/async/notification.ts'
import { yieldEventLoop } from '../../foundation/store/read-one-by-one.ts'
import type { Tenancy } from '../tenancy.ts'
import { type Follower, followLog } from './followers.ts'
import { type EventFilter, presentEvent } from './read-events.ts'

/** The interval at which a waiting reader checks for events and for the end, in milliseconds. */
const lookMs = 1000

interface Reading {
  readonly cursor: number
  readonly follow: boolean
  /** Aborted when the reader has disconnected. */
  readonly gone: AbortSignal
  /** Returns true if no more events can come. */
  readonly isOver?: () => Promise<boolean>
}

/**
 * Yields the events of a log after a cursor, and with `follow` also new ones. Each event is durable
 * first, so that a power loss does not revoke an event that a client has seen. Events that were
 * removed before they were read are reported as `dropped`. Throws immediately if too many streams
 * read the log.
 */
export function eventItems(service: Tenancy, filter: EventFilter, reading: Reading): AsyncGenerator<EventItem> {
  const follower = followLog(service, filter.projectId, reading.gone)
  return items(service, filter, { ...reading, follower })
}

async function* items(
  { eventNotifier }: Tenancy,
  filter: EventFilter,
  { cursor, follow, gone, isOver = async () => false, follower }: Reading & { readonly follower: Follower },
): AsyncGenerator<EventItem> {
  let at = cursor
  const notification = new Notification()
  using _place = follower
  using _watch = eventNotifier.watch(filter.projectId, () => notification.notify())
  const leave = () => notification.notify()
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
        // Other requests run between two reads of a long log.
        await yieldEventLoop()
        continue
      }
      if (over) {
        yield { type: 'end', cursor: at }
        return
      }
      await notification.wait(lookMs)
    }
  } finally {
    gone.removeEventListener('abort', leave)
  }
}
