import type { GuestClient, GuestItem } from '@holt/guest-client'
import type { StreamRetry } from '../../runtimes/links/stream-retry.ts'

/** The command to follow, and the start position. */
export interface Followed {
  readonly guest: GuestClient
  readonly commandId: string
  readonly cursor: number
  /** True if the command waits for this reader. */
  readonly hold: boolean
  /** True if `start` comes first: in the answer to the command's start. */
  readonly hasStart: boolean
  /** The items of an answer that has begun. If absent, the output is requested. */
  readonly begun?: AsyncIterable<GuestItem>
}

/**
 * Yields a command's items from a cursor to its end, each once. Continues across checkpoints and
 * pauses of the runtime.
 */
export async function* followOutput(
  { guest, commandId, cursor, hold, hasStart, begun }: Followed,
  streamRetry: StreamRetry,
  signal: AbortSignal,
): AsyncGenerator<GuestItem> {
  let at = cursor
  const told = new Set<GuestItem['type']>()
  for (let items = begun; ; items = undefined) {
    try {
      if (items === undefined && hasStart && !told.has('start')) {
        told.add('start')
        yield { type: 'start', cursor: 0, pid: (await guest.processes.get(commandId, signal)).pid }
      }
      items ??= await guest.processes.readOutput(commandId, { cursor: at, follow: true, hold }, signal)
      for await (const item of items) {
        streamRetry.progress()
        at = item.cursor
        // Items other than output are repeated in each answer.
        if ((item.type === 'start' || item.type === 'exit') && told.has(item.type)) continue
        told.add(item.type)
        yield item
        if (item.type === 'end') return
      }
    } catch (error) {
      await streamRetry.after(error)
    }
  }
}
