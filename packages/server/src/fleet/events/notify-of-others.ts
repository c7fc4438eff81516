import { pause } from '../../foundation/async/pause.ts'
import type { Log } from '../../foundation/log.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { EventNotifier } from '../../tenancy/events/event-notifier.ts'

/** The interval at which a host looks for events of other hosts, in milliseconds. */
const lookMs = 250

/**
 * Notifies this host's readers of events that other hosts have committed, until the signal is
 * aborted. Reads the last cursors of the projects that are watched here. Never rejects.
 */
export async function notifyOfOthers(
  { store, notifier, log }: { readonly store: Pick<Store, 'db'>; readonly notifier: EventNotifier; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  let seen: ReadonlyMap<string, number> = new Map()
  while (!signal.aborted) {
    try {
      const last = await lastCursors(store, notifier.watched)
      for (const [projectId, cursor] of last) if (seen.get(projectId) !== cursor) notifier.notify(projectId)
      seen = last
    } catch (err) {
      log.debug({ err }, 'the events of other hosts could not be looked for')
    }
    await pause(lookMs, signal)
  }
}

async function lastCursors(
  { db }: Pick<Store, 'db'>,
  projectIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (projectIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('log_positions')
    .select(['project_id', 'last'])
    .where('project_id', 'in', projectIds)
    .execute()
  return new Map(rows.map(({ project_id, last }) => [project_id, Number(last)]))
}
