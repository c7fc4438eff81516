import { type Event, type EventType, type IdKind, idPrefixes } from '@holt/protocol'
import { sql } from 'kysely'
import type { EventRow } from '../store/event-tables.ts'
import { moment } from '../store/moment.ts'
import type { Queries } from '../store/open-store.ts'
import { giveTurn } from '../store/read-in-turn.ts'

/** Which events of a project. */
export interface EventFilter {
  readonly projectId: string
  /** Absent: every type. */
  readonly types?: readonly EventType[] | undefined
  readonly subjectId?: string | undefined
}

/**
 * True of every event of a log; the index by cursor holds these, and serves only statements that
 * say so with this literal.
 */
export const inLog = sql<boolean>`cursor > 0`

/** How many events a page looks at where it chooses by type, for which there is no index. */
export const examinedEvents = 20_000

/** How many one query looks at then; others have their turn between two. */
const stepEvents = 2_000

/** Whether an event is one of these. */
export function isOf({ types, subjectId }: EventFilter, row: EventRow): boolean {
  const isOfType = types === undefined || types.some((type) => type === row.type)
  return isOfType && (subjectId === undefined || subjectId === row.subject_id)
}

/** Up to `limit` events after a cursor and up to `reachAfter`, the oldest first. */
export async function eventsAfter(db: Queries, filter: EventFilter, after: number, limit: number): Promise<EventRow[]> {
  let query = matching(db, filter).where('cursor', '>', after)
  if (filter.types !== undefined) query = query.where('cursor', '<=', after + stepEvents)
  return query.orderBy('cursor', 'asc').limit(limit).execute()
}

/** How far `eventsAfter` looks in a log that ends with `last`. */
export function reachAfter({ types }: EventFilter, after: number, last: number): number {
  return types === undefined ? last : Math.min(last, after + stepEvents)
}

/** Up to `limit` events before a cursor and not before `reachBefore`, the newest first. */
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

/** The first event that `eventsBefore` looks at. */
function reachBefore({ types }: EventFilter, before: number): number {
  return types === undefined ? 1 : Math.max(1, before - stepEvents)
}

/**
 * Up to `limit` events of a page, and the cursor of the last one that was looked at in a log that
 * ends with `last`.
 */
export async function findAfter(
  db: Queries,
  filter: EventFilter,
  { after, last, limit }: { after: number; last: number; limit: number },
): Promise<{ rows: readonly EventRow[]; reach: number }> {
  const rows: EventRow[] = []
  for (let at = after; ; await giveTurn()) {
    rows.push(...(await eventsAfter(db, filter, at, limit - rows.length)))
    at = reachAfter(filter, at, last)
    if (rows.length >= limit || at >= last || at - after >= examinedEvents) return { rows, reach: at }
  }
}

/** As `findAfter`, the newest first. */
export async function findBefore(
  db: Queries,
  filter: EventFilter,
  { before, limit }: { before: number; limit: number },
): Promise<{ rows: readonly EventRow[]; reach: number }> {
  const rows: EventRow[] = []
  for (let at = before; ; await giveTurn()) {
    rows.push(...(await eventsBefore(db, filter, at, limit - rows.length)))
    at = reachBefore(filter, at)
    if (rows.length >= limit || at <= 1 || before - at >= examinedEvents) return { rows, reach: at }
  }
}

/**
 * The last cursor of a project's log, and the last one that was removed as too old; 0 where there
 * is none.
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
