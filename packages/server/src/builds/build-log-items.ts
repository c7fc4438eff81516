import type { BuildLogItem } from '@holt/protocol'
import { Notification } from '../foundation/async/notification.ts'
import { isFinal } from './build-states.ts'
import type { Builds } from './builds.ts'
import { type BuildRef, findBuild } from './find-build.ts'

/** The number of lines in one read. */
const batch = 200

/** The interval at which a follower checks for the end of the build, in milliseconds. */
const lookMs = 1000

interface Reading {
  readonly cursor: number
  readonly follow: boolean
  /** Aborted when the reader has disconnected. */
  readonly gone: AbortSignal
}

/**
 * Yields the lines of a build after a cursor: the stored ones, and with `follow` new ones until the
 * build ends. Reports lost lines. Only an ended build has an `end` item: without `follow`, the
 * lines of a running build stop without one.
 */
export async function* buildLogItems(
  { store, builds }: Pick<Builds, 'store' | 'builds'>,
  ref: BuildRef,
  { cursor, follow, gone }: Reading,
): AsyncGenerator<BuildLogItem> {
  let last = cursor
  const notification = new Notification()
  using _watch = builds.logs.watch(ref.buildId, () => notification.notify())
  const leave = () => notification.notify()
  gone.addEventListener('abort', leave)
  try {
    while (!gone.aborted) {
      const { status, log_cursor } = await findBuild(store.db, ref)
      const rows = await builds.logs.read(ref, { after: last, limit: batch })
      for (const { cursor: next, line } of rows) {
        if (next > last + 1) yield { type: 'gap', cursor: next - 1, lost: next - last - 1 }
        last = next
        yield { type: 'log', cursor: next, ...line }
      }
      if (rows.length === batch) continue
      if (isFinal(status)) {
        if (log_cursor > last) yield { type: 'gap', cursor: log_cursor, lost: log_cursor - last }
        yield { type: 'end', cursor: Math.max(last, log_cursor), status }
        return
      }
      if (!follow) return
      await notification.wait(lookMs)
    }
  } finally {
    gone.removeEventListener('abort', leave)
  }
}
