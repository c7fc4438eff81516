import type { GuestChange, GuestClient } from '@holt/engine'
import { isSet } from '@holt/protocol'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { Comeback } from '../../runtimes/links/come-back.ts'
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
  const begun = await guest.watch(watched, signal)
  const comeback = new Comeback(service, { ref, signal })
  return { status: 200, items: goOn({ guest, watched, begun }, comeback, signal) }
}

/**
 * Continues a watch after an interruption. A watch that breaks before its first item begins again
 * with `start`, which has the start cursor.
 */
async function* goOn(
  { guest, watched, begun }: { guest: GuestClient; watched: Watched; begun: AsyncIterable<GuestChange> },
  comeback: Comeback,
  signal: AbortSignal,
): AsyncGenerator<GuestChange> {
  let { cursor } = watched
  for (let items: AsyncIterable<GuestChange> | null = begun; ; items = null) {
    try {
      for await (const item of items ?? (await guest.watch({ ...watched, cursor }, signal))) {
        comeback.progress()
        cursor = item.cursor
        yield item
        if (item.type === 'end') return
      }
    } catch (error) {
      await comeback.after(error)
    }
  }
}
