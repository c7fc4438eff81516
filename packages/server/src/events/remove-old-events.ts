import { keptEvents } from '@holt/protocol'
import { dayMs } from '../day.ts'
import type { Service } from '../service.ts'
import { inLog } from './read-events.ts'

/** How many events are removed at once, so that nobody waits for long. */
const stepEvents = 5000

/**
 * Removes the oldest events of each project: those that are too old, and those on top of what is kept. What is removed is always a log's beginning, and noted, so that a
 * reader whose cursor fell out is told.
 */
export async function removeOldEvents(
  { store, now }: Pick<Service, 'store' | 'now'>,
  kept: { days: number; ofProject: number } = keptEvents,
): Promise<void> {
  const cutoff = now() - kept.days * dayMs
  const logs = await store.db.selectFrom('log_positions').selectAll().execute()
  for (const { project_id, last, removed } of logs) {
    const step = Math.min(Number(last), Number(removed) + stepEvents)
    const surplus = Number(last) - kept.ofProject
    // What is before the first event that is young enough: a clock that was behind for a moment leaves an event that looks old at the end of the log.
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
    await store.change(
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
          .execute()
      },
      { durable: 'later' },
    )
  }
}
