import { keptEvents } from '@holt/protocol'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import { dayMs } from '../../foundation/time/day.ts'
import type { Tenancy } from '../tenancy.ts'
import { inLog } from './read-events.ts'

/** The number of events of a log that one step removes. */
const usualStep = 5000

/**
 * Removes the oldest events of each project: those that are too old, and those beyond the kept
 * number. It takes one step in each log, so that no other work waits long. It always removes the
 * beginning of a log and records that, so that a reader with an expired cursor is told. Returns
 * true if a log has more to remove. Call it again soon then: otherwise the log of a project that
 * writes faster than one step in each call grows without bound.
 */
export async function removeOldEvents(
  { store, now }: Pick<Tenancy, 'store' | 'now'>,
  kept: { days: number; ofProject: number } = keptEvents,
  stepEvents = usualStep,
): Promise<boolean> {
  const cutoff = now() - kept.days * dayMs
  const logs = await store.db.selectFrom('log_positions').selectAll().execute()
  let isMore = false
  for (const { project_id, last, removed } of logs) {
    const step = Math.min(Number(last), Number(removed) + stepEvents)
    const surplus = Number(last) - kept.ofProject
    // All events before the first young one are removed. If the clock was behind for a moment, an
    // event at the end of the log looks old.
    const young = await store.db
      .selectFrom('events')
      .select('cursor')
      .where('project_id', '=', project_id)
      .where(inLog)
      .where('cursor', '>', removed)
      .where('cursor', '<=', step)
      .where('at', '>=', cutoff)
      .orderBy('cursor')
      .limit(1)
      .executeTakeFirst()
    const old = young === undefined ? step : Number(young.cursor) - 1
    const until = Math.min(step, Math.max(old, surplus))
    if (until <= Number(removed)) continue
    if (until === step && step < Number(last)) isMore = true
    await store.change(
      aloneWithRow,
      async (changes) => {
        await changes
          .deleteFrom('events')
          .where('project_id', '=', project_id)
          .where(inLog)
          .where('cursor', '<=', until)
          .execute()
        await changes
          .updateTable('log_positions')
          .set({ removed: until })
          .where('project_id', '=', project_id)
          // Another daemon may have removed more.
          .where('removed', '<', until)
          .execute()
      },
      { durable: 'later' },
    )
  }
  return isMore
}
