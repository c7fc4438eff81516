import { type Event, type EventType, type HostEventType, type IdKind, idPrefixes } from '@holt/protocol'
import { sql } from 'kysely'
import type { EventRow } from '../../foundation/store/event-tables.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { yieldEventLoop } from '../../foundation/store/read-one-by-one.ts'

/** A filter for events of a project. */
export interface EventFilter {
  readonly projectId: string
  /** Absent: all types. */
  readonly types?: readonly (EventType | HostEventType)[] | undefined
  readonly subjectId?: string | undefined
}

/**
 * The condition that holds for every event of a log. The index by cursor covers these events, and
 * is only used by statements with this literal.
 */
export const inLog = sql<boolean>`cursor > 0`

/** The events that a page examines with a filter by type, which has no index. */
export const examinedEvents = 20_000

/** The events that one such query examines. The event loop runs between two queries. */
const stepEvents = 2_000

/** Returns true if an event matches the filter. */
export function isOf({ types, subjectId }: EventFilter, row: EventRow): boolean {
  const isOfType = types === undefined || types.some((type) => type === row.type)
  return isOfType && (subjectId === undefined || subjectId === row.subject_id)
}

/** Returns up to `limit` events after a cursor and up to `reachAfter`, the oldest first. */
export async function eventsAfter(db: Queries, filter: EventFilter, after: number, limit: number): Promise<EventRow[]> {
  let query = matching(db, filter).where('cursor', '>', after)
  if (filter.types !== undefined) query = query.where('cursor', '<=', after + stepEvents)
  return query.orderBy('cursor', 'asc').limit(limit).execute()
}

/** Returns the cursor up to which `eventsAfter` searches a log that ends with `last`. */
export function reachAfter({ types }: EventFilter, after: number, last: number): number {
  return types === undefined ? last : Math.min(last, after + stepEvents)
}

/** Returns up to `limit` events before a cursor and not before `reachBefore`, the newest first. */
export async function eventsBefore(
  db: Queries,
  filter: EventFilter,
  before: number,
  limit: number,
): Promise<EventRow[]> {
  let query = matching(db, filter).where('cursor', '<', before)
  if (filter.types !== undefined) query = query.where('cursor', '>=', reachBefore(filter, before))
  return query.orderBy('cursor', 'desc').limit(limit).execute()
}

/** Returns the first cursor that `eventsBefore` examines. */
function reachBefore({ types }: EventFilter, before: number): number {
  return types === undefined ? 1 : Math.max(1, before - stepEvents)
}

/**
 * Returns up to `limit` events of a page, and the last examined cursor in a log that ends with
 * `last`.
 */
export async function findAfter(
  db: Queries,
  filter: EventFilter,
  { after, last, limit }: { after: number; last: number; limit: number },
): Promise<{ rows: readonly EventRow[]; reach: number }> {
  const rows: EventRow[] = []
  for (let at = after; ; await yieldEventLoop()) {
    rows.push(...(await eventsAfter(db, filter, at, limit - rows.length)))
    at = reachAfter(filter, at, last)
    if (rows.length >= limit || at >= last || at - after >= examinedEvents) return { rows, reach: at }
  }
}

/** Like `findAfter`, but the newest first. */
export async function findBefore(
  db: Queries,
  filter: EventFilter,
  { before, limit }: { before: number; limit: number },
): Promise<{ rows: readonly EventRow[]; reach: number }> {
  const rows: EventRow[] = []
  for (let at = before; ; await yieldEventLoop()) {
    rows.push(...(await eventsBefore(db, filter, at, limit - rows.length)))
    at = reachBefore(filter, at)
    if (rows.length >= limit || at <= 1 || before - at >= examinedEvents) return { rows, reach: at }
  }
}

/**
 * Returns the last cursor of a project's log, and that of the last removed event. Both are 0 if
 * there is none.
 */
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

/** Returns an event as clients see it. */
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

/** Parses the data of an event. A damaged row does not block the ones after it. */
function dataOf({ data_json }: EventRow): Event['data'] {
  try {
    return JSON.parse(data_json)
  } catch {
    return { damaged: true }
  }
}
