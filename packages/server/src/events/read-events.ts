import { type Event, type EventType, type IdKind, idPrefixes } from '@holt/protocol'
import { sql } from 'kysely'
import type { EventRow } from '../store/event-tables.ts'
import { moment } from '../store/moment.ts'
import type { Queries } from '../store/open-store.ts'

/** Which events of a project. */
export interface EventFilter {
  readonly projectId: string
  /** Absent: every type. */
  readonly types?: readonly EventType[] | undefined
  readonly subjectId?: string | undefined
}

/** True of every event of a log; the index by cursor holds these, and serves only statements that say so with this literal. */
export const inLog = sql<boolean>`cursor > 0`

/** Up to `limit` events after a cursor, the oldest first. */
export async function eventsAfter(db: Queries, filter: EventFilter, after: number, limit: number): Promise<EventRow[]> {
  return matching(db, filter).where('cursor', '>', after).orderBy('cursor', 'asc').limit(limit).execute()
}

/** Up to `limit` events before a cursor, the newest first. */
export async function eventsBefore(
  db: Queries,
  filter: EventFilter,
  before: number,
  limit: number,
): Promise<EventRow[]> {
  return matching(db, filter).where('cursor', '<', before).orderBy('cursor', 'desc').limit(limit).execute()
}

/** The last cursor of a project's log, and the last one that was removed as too old; 0 where there is none. */
export async function logPosition(db: Queries, projectId: string): Promise<{ last: number; removed: number }> {
  const row = await db
    .selectFrom('log_positions')
    .select(['last', 'removed'])
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  return { last: Number(row?.last ?? 0), removed: Number(row?.removed ?? 0) }
}

function matching(db: Queries, { projectId, types, subjectId }: EventFilter) {
  let query = db.selectFrom('events').selectAll().where('project_id', '=', projectId)
  if (types !== undefined) query = query.where('type', 'in', types)
  return subjectId === undefined ? query.where(inLog) : query.where('subject_id', '=', subjectId)
}

const kindsByPrefix = Object.fromEntries(Object.entries(idPrefixes).map(([kind, prefix]) => [prefix, kind as IdKind]))

/** An event as clients see it. */
export function presentEvent(row: EventRow): Event {
  return {
    type: row.type as Event['type'],
    cursor: Number(row.cursor),
    event_id: row.event_id as Event['event_id'],
    at: moment(row.at),
    subject: { kind: kindsByPrefix[row.subject_id.slice(0, 2)] ?? 'project', id: row.subject_id },
    data: dataOf(row),
    actor:
      row.key_id === null
        ? { type: 'service' }
        : { type: 'key', key_id: row.key_id as Extract<Event['actor'], { type: 'key' }>['key_id'] },
  }
}

/** A row that is damaged keeps nobody from those behind it. */
function dataOf({ data_json }: EventRow): Event['data'] {
  try {
    return JSON.parse(data_json)
  } catch {
    return { damaged: true }
  }
}
