import { type Event, type EventPage, eventTypes, HoltError, hostEventTypes, isSet, typesMatching } from '@holt/protocol'
import { findRuntime } from '../../foundation/rows/find-runtime.ts'
import { hasEnded } from '../../foundation/rows/states.ts'
import { systemProjectId } from '../../foundation/rows/system-project.ts'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import { acceptedFormat } from '../../foundation/wire/stream-items.ts'
import { eventItems } from '../../tenancy/events/event-items.ts'
import { type EventFilter, findAfter, findBefore, logPosition, presentEvent } from '../../tenancy/events/read-events.ts'
import type { Api, Handlers } from '../api.ts'

/** The routes of the event log. */
export const eventHandlers = { listEvents, listHostEvents, readRuntimeEvents } satisfies Partial<Handlers>

async function listEvents(call: Call<'listEvents', Api>): Promise<Answer> {
  const { type, subject: subjectId } = call.query
  const types = type === undefined ? undefined : typesMatching(type, eventTypes)
  return readLog(call, { projectId: call.caller.projectId, types, subjectId })
}

/** Reads the events of hosts alone: the log of Holt's own project has those of templates, too. */
async function listHostEvents(call: Call<'listHostEvents', Api>): Promise<Answer> {
  const { type, subject: subjectId } = call.query
  const types = typesMatching(type ?? ['host.*'], hostEventTypes)
  return readLog(call, { projectId: systemProjectId, types, subjectId })
}

async function readLog(
  { service, query, headers, gone }: Call<'listEvents', Api> | Call<'listHostEvents', Api>,
  filter: EventFilter,
): Promise<Answer> {
  const { projectId } = filter
  const follow = isSet(query.follow)
  if (query.order === 'desc') {
    if (follow) throw invalidField('/query/order', 'must be asc with follow')
    const read = () => newestFirst(service, filter, query)
    return { status: 200, json: await readOneByOne(service, { projectId, gone }, read) }
  }
  const cursor = await startOf(service, projectId, query.cursor)
  if (follow || acceptedFormat(headers.accept) !== null)
    return { status: 200, items: eventItems(service, filter, { cursor, follow, gone }) }
  const read = () => oldestFirst(service, filter, { cursor, asked: query.cursor, limit: query.limit })
  return { status: 200, json: await readOneByOne(service, { projectId, gone }, read) }
}

async function readRuntimeEvents(call: Call<'readRuntimeEvents', Api>): Promise<Answer> {
  const { service, caller, query, gone, ref } = call
  const { runtime_id: subjectId } = await findRuntime(service, ref)
  const filter = {
    projectId: caller.projectId,
    types: query.type === undefined ? undefined : typesMatching(query.type, eventTypes),
    subjectId,
  }
  const cursor = await startOf(service, caller.projectId, query.cursor)
  const isOver = async () => hasEnded((await findRuntime(service, ref)).state)
  return { status: 200, items: eventItems(service, filter, { cursor, follow: isSet(query.follow), gone, isOver }) }
}

/** Returns the cursor where reading begins. A cursor of 0 means the oldest kept event. */
async function startOf({ store }: Api, projectId: string, cursor: number | 'latest'): Promise<number> {
  const { last, removed } = await logPosition(store.db, projectId)
  if (cursor === 'latest') {
    // A reported end must be durable. Otherwise other events could have the same cursors after a
    // power loss.
    await store.settled()
    return last
  }
  if (cursor === 0) return removed
  if (cursor < removed) {
    throw new HoltError('cursor_expired', 'The events after this cursor are no longer kept.', {
      details: { oldest_cursor: removed },
      hint: `Leave the cursor out to begin with the oldest event that is kept, or use ${removed}.`,
    })
  }
  if (cursor > last) throw invalidField('/query/cursor', 'is past the end of the log')
  return cursor
}

/**
 * Returns a page after a cursor. `asked` is the client's value, from which the cursor was computed.
 */
async function oldestFirst(
  service: Api,
  filter: EventFilter,
  { cursor, asked, limit }: { cursor: number; asked: number | 'latest'; limit: number },
): Promise<EventPage> {
  const { store } = service
  const { last } = await logPosition(store.db, filter.projectId)
  const { rows, reach } = await findAfter(store.db, filter, { after: cursor, last, limit: limit + 1 })
  await store.settled()
  // Events that were removed meanwhile would be missing without notice.
  const start = asked === 'latest' ? cursor : await startOf(service, filter.projectId, asked)
  if (start > cursor) return oldestFirst(service, filter, { cursor: start, asked, limit })
  const data = rows.slice(0, limit).map(presentEvent)
  const shown = data.at(-1)
  if (rows.length > limit && shown !== undefined) return pageOf(data, shown.cursor, true)
  if (reach < last) return pageOf(data, reach, true)
  return pageOf(data, Math.max(last, shown?.cursor ?? 0), false)
}

async function newestFirst(
  { store }: Api,
  filter: EventFilter,
  { cursor, limit }: { cursor: number | 'latest'; limit: number },
): Promise<EventPage> {
  const { last, removed } = await logPosition(store.db, filter.projectId)
  const before = cursor === 'latest' || cursor === 0 ? last + 1 : Math.min(cursor, last + 1)
  const found = await findBefore(store.db, filter, { before, limit: limit + 1 })
  const { rows } = found
  await store.settled()
  const data = rows.slice(0, limit).map(presentEvent)
  const oldest = data.at(-1)
  const reach = rows.length > limit && oldest !== undefined ? oldest.cursor : found.reach
  return { data, next_cursor: reach > removed + 1 ? String(reach) : null, last_cursor: last }
}

function pageOf(data: Event[], lastCursor: number, more: boolean): EventPage {
  return { data, next_cursor: more ? String(lastCursor) : null, last_cursor: lastCursor }
}
