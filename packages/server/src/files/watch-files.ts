import type { GuestChange, GuestClient } from '@holt/engine'
import { isSet } from '@holt/protocol'
import type { Answer, Call } from '../http/call.ts'
import { Comeback } from '../links/come-back.ts'
import { guestOf } from './guest-of.ts'

/** What is watched, and after which change; null: from now on. */
interface Watched {
  readonly path: string
  readonly recursive: boolean
  readonly cursor: number | null
}

/** Tells what changes in a directory, also over a pause of the runtime. */
export async function watchFiles(call: Call<'watchFiles'>): Promise<Answer> {
  const { service, caller, params, query, gone: signal } = call
  const watched: Watched = { path: query.path, recursive: isSet(query.recursive), cursor: query.cursor ?? null }
  const guest = await guestOf(call)
  const begun = await guest.watch(watched, signal)
  const comeback = new Comeback(service, { ref: { projectId: caller.projectId, runtimeId: params.runtime_id }, signal })
  return { status: 200, items: goOn({ guest, watched, begun }, comeback, signal) }
}

/**
 * A watch that breaks before it has told anything begins anew with `start`, which tells from where
 * on.
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
