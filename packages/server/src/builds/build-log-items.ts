import type { BuildLogItem } from '@holt/protocol'
import { News } from '../foundation/async/news.ts'
import type { Builds } from './builds.ts'
import { type BuildRef, findBuild } from './find-build.ts'
import { isFinal } from './states.ts'

/** How many lines are read at once. */
const batch = 200

/** A reader that waits looks this often whether the build has ended. */
const lookMs = 1000

interface Reading {
  readonly cursor: number
  readonly follow: boolean
  /** Ends when the reader is gone. */
  readonly gone: AbortSignal
}

/**
 * The lines of a build after a cursor: what is there, and with `follow` what comes until the build
 * has ended. What is missing is said. Only a build that has ended has an `end`: without `follow`
 * the lines of one that runs just stop.
 */
export async function* buildLogItems(
  { store, builds }: Pick<Builds, 'store' | 'builds'>,
  ref: BuildRef,
  { cursor, follow, gone }: Reading,
): AsyncGenerator<BuildLogItem> {
  let last = cursor
  const news = new News()
  using _watch = builds.logs.watch(ref.buildId, () => news.come())
  const leave = () => news.come()
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
      await news.wait(lookMs)
    }
  } finally {
    gone.removeEventListener('abort', leave)
  }
}
