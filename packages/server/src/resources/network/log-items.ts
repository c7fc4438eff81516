import type { NetworkLogItem } from '@holt/protocol'
import { Notification } from '../../foundation/async/notification.ts'
import { findRuntime, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { hasEnded } from '../../foundation/rows/states.ts'
import type { Resources } from '../resources.ts'

/** The decisions that are read at once. */
const batch = 500

/** The interval at which a waiting reader checks for the end of the runtime, in milliseconds. */
const lookMs = 1000

interface Reading {
  readonly cursor: number
  readonly follow: boolean
  readonly deniedOnly: boolean
  /** Aborted when the reader has disconnected. */
  readonly gone: AbortSignal
}

/**
 * Yields the items of a runtime's log after a cursor, and with `follow` also new ones until the
 * runtime ends. Missing decisions are reported as `dropped`.
 */
export async function* logItems(
  service: Resources,
  ref: RuntimeRef,
  { cursor, follow, deniedOnly, gone }: Reading,
): AsyncGenerator<NetworkLogItem> {
  let last = cursor
  const notification = new Notification()
  using _watch = service.decisions.watch(ref.runtimeId, () => notification.notify())
  const leave = () => notification.notify()
  gone.addEventListener('abort', leave)
  try {
    while (!gone.aborted) {
      const over = !follow || hasEnded((await findRuntime(service, ref)).state)
      const rows = await service.decisions.read(ref, last, batch)
      for (const { cursor: next, item } of rows) {
        if (next > last + 1) yield { type: 'dropped', cursor: next - 1, dropped_items: next - last - 1 }
        last = next
        if (!deniedOnly || !item.allowed) yield { ...item, cursor: next }
      }
      if (rows.length === batch) continue
      if (over) {
        yield { type: 'end', cursor: last }
        return
      }
      await notification.wait(lookMs)
    }
  } finally {
    gone.removeEventListener('abort', leave)
  }
}
