import type { FileChange, Watches } from '@holt/e2b'
import type { GuestChange } from '@holt/guest-client'
import { within } from '../../foundation/wire/call.ts'
import { answerTimeoutMs } from '../../inside/files/guest-timeouts.ts'
import { followChanges } from '../../inside/files/watch-files.ts'
import { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import type { InsideVisit } from './inside-visit.ts'
import { attributePrefix } from './sandbox-files.ts'

/** Returns the watches of a runtime. They continue across its checkpoints. */
export function sandboxWatches(inside: InsideVisit): Watches {
  const { guest, visit } = inside
  return {
    watch: async ({ account: named, path: asked, recursive }, signal) => {
      const account = inside.accountOf(named)
      const place = { account, path: inside.pathOf(asked) }
      const homes = guest.homes({ attributePrefix })
      const { path } = await inside.ask(account, homes.stat(place, within({ gone: signal }, answerTimeoutMs)))
      const watched = { path, recursive, cursor: null }
      const begun = await inside.ask(account, guest.files.watch(watched, signal))
      const streamRetry = new StreamRetry(visit.service, { ref: visit.ref, signal })
      const items = followChanges({ guest, watched, begun }, streamRetry, signal)
      // The watch holds from its first item on.
      await inside.ask(account, items.next())
      return { path, changes: changesOf(items) }
    },
  }
}

async function* changesOf(items: AsyncIterable<GuestChange>): AsyncGenerator<FileChange> {
  for await (const item of items) {
    if (item.type === 'overflow') yield { type: 'lost' }
    else if (item.type === 'moved') {
      yield { type: 'moved', from: item.from, path: item.path, isDirectory: item.directory }
    } else if (item.type === 'end') {
      if (item.reason === 'too_many_directories') yield { type: 'lost' }
      return
    } else if ('path' in item) yield { type: item.type, path: item.path, isDirectory: item.directory }
  }
}
