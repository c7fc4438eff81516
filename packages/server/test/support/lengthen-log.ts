import { examinedEvents } from '../../src/tenancy/events/read-events.ts'
import type { TestServer } from './start-test-server.ts'
import { openTestStore } from './test-store.ts'

/**
 * Ends a server and makes its project's log longer than what one query looks at. Two of the new
 * events are of the rare type: the first and the last.
 */
export async function lengthenLog(
  server: TestServer,
  { rare }: { rare: string },
): Promise<{ cursors: readonly number[]; last: number }> {
  const projectId = (await server.ask('GET', '/v1/agents/whoami')).json.project.project_id
  const begun = (await server.ask('GET', '/v1/agents/event?cursor=latest')).json.last_cursor
  await server.close()
  const store = await openTestStore(server.stateDir)
  const last = begun + examinedEvents + 100
  const cursors = [begun + 1, last]
  const about = { project_id: projectId, subject_id: projectId, at: Date.now(), data_json: '{}', key_id: null }
  for (let cursor = begun + 1; cursor <= last; cursor += 500) {
    const rows = Array.from({ length: Math.min(500, last + 1 - cursor) }, (_, index) => ({
      ...about,
      cursor: cursor + index,
      event_id: `ev${String(cursor + index).padStart(20, '0')}`,
      type: cursors.includes(cursor + index) ? rare : 'project.updated',
    }))
    await store.db.insertInto('events').values(rows).execute()
  }
  await store.db.updateTable('log_positions').set({ last }).where('project_id', '=', projectId).execute()
  await store.close()
  return { cursors, last }
}
