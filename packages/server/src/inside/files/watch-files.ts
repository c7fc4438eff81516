import type { GuestChange, GuestClient } from '@holt/guest-client'
import { isSet } from '@holt/protocol'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import type { Inside } from '../inside.ts'

/** The watched directory, and the cursor of the last known change. Null: from now on. */
interface Watched {
  readonly path: string
  readonly recursive: boolean
  readonly cursor: number | null
}

/** Streams the changes of a directory, also across a pause of the runtime. */
export async function watchFiles(call: Call<'watchFiles', Inside>): Promise<Answer> {
  const { service, query, gone: signal, ref } = call
  const watched: Watched = { path: query.path, recursive: isSet(query.recursive), cursor: query.cursor ?? null }
  const guest = await call.guest()
  const begun = await guest.files.watch(watched, signal)
  const streamRetry = new StreamRetry(service, { ref, signal })
  return { status: 200, items: followChanges({ guest, watched, begun }, streamRetry, signal) }
}

/**
 * Continues a watch after an interruption. A watch that breaks before its first item begins again
 * with `start`, which has the start cursor.
 */
export async function* followChanges(
  { guest, watched, begun }: { guest: GuestClient; watched: Watched; begun: AsyncIterable<GuestChange> },
  streamRetry: StreamRetry,
  signal: AbortSignal,
): AsyncGenerator<GuestChange> {
  let { cursor } = watched
  for (let items: AsyncIterable<GuestChange> | null = begun; ; items = null) {
    try {
      for await (const item of items ?? (await guest.files.watch({ ...watched, cursor }, signal))) {
        streamRetry.progress()
        cursor = item.cursor
        yield item
        if (item.type === 'end') return
      }
    } catch (error) {
      await streamRetry.after(error)
    }
  }
}
