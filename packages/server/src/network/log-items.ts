import type { NetworkLogItem } from '@holt/protocol'
import { News } from '../news.ts'
import { findRuntime, type RuntimeRef } from '../runtimes/find-runtime.ts'
import { hasEnded } from '../runtimes/states.ts'
import type { Service } from '../service.ts'

/** How many decisions are read at once. */
const batch = 500

/** A reader that waits looks this often whether the runtime has ended. */
const lookMs = 1000

interface Reading {
  readonly cursor: number
  readonly follow: boolean
  readonly deniedOnly: boolean
  /** Ends when the reader is gone. */
  readonly gone: AbortSignal
}

/**
 * The items of a runtime's log after a cursor: what is there, and with `follow` what comes until
 * the runtime has ended. What is missing is said.
 */
export async function* logItems(
  service: Service,
  ref: RuntimeRef,
  { cursor, follow, deniedOnly, gone }: Reading,
): AsyncGenerator<NetworkLogItem> {
  let last = cursor
  const news = new News()
  using _watch = service.decisions.watch(ref.runtimeId, () => news.come())
  const leave = () => news.come()
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
      await news.wait(lookMs)
    }
  } finally {
    gone.removeEventListener('abort', leave)
  }
}
