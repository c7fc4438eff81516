import { isAtLeast, type LogEntry, type LogsQuery } from '@holt/e2b'
import type { Event } from '@holt/protocol'
import { findRuntime } from '../../foundation/rows/find-runtime.ts'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import { eventsAfter, eventsBefore, presentEvent } from '../../tenancy/events/read-events.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import type { ControlCall } from './control-call.ts'

/** The events of a runtime that are read at once. */
const pageEvents = 1000

/** Returns the log of a sandbox as the CLI reads it: as lines, and as entries. */
export async function sandboxLines(call: ControlCall<unknown, LogsQuery>): Promise<E2bAnswer> {
  const logEntries = await entriesOf(call, call.query.start)
  const logs = logEntries.map(({ timestamp, level, message, fields }) => ({
    timestamp,
    line: JSON.stringify({ ...fields, level, message, timestamp }),
  }))
  return { status: 200, json: { logs, logEntries } }
}

/** Returns the log of a sandbox as entries. */
export async function sandboxLogs(call: ControlCall<unknown, LogsQuery>): Promise<E2bAnswer> {
  return { status: 200, json: { logs: await entriesOf(call, call.query.cursor) } }
}

/**
 * Returns the events of a runtime from a moment on, oldest first, or before it, newest first. Reads
 * pages until there are enough.
 */
async function entriesOf(
  { service, ref, query, gone }: ControlCall<unknown, LogsQuery>,
  at: number | undefined,
): Promise<readonly LogEntry[]> {
  await findRuntime(service, ref) // Throws if there is none.
  const { projectId, runtimeId: subjectId } = ref
  const { direction, limit, level, search } = query
  const isForward = direction === 'forward'
  const { db } = service.store
  const found: LogEntry[] = []
  for (let cursor = isForward ? 0 : Number.MAX_SAFE_INTEGER; found.length < limit; ) {
    const rows = await readOneByOne(service, { projectId, gone }, () =>
      (isForward ? eventsAfter : eventsBefore)(db, { projectId, subjectId }, cursor, pageEvents),
    )
    const entries = rows
      .filter((row) => at === undefined || (isForward ? row.at >= at : row.at <= at))
      .map((row) => entryOf(presentEvent(row)))
      .filter((entry) => level === undefined || isAtLeast(entry.level, level))
      .filter(({ message }) => search === undefined || message.includes(search))
    found.push(...entries)
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageEvents) break
    cursor = Number(last.cursor)
  }
  return found.slice(0, limit)
}

/** Returns an event as a line of a log. Its data are texts. */
function entryOf({ at, type, data, event_id }: Event): LogEntry {
  const fields = Object.entries(data).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  const level = type === 'runtime.failed' ? 'error' : 'info'
  return { timestamp: at, level, message: type, fields: { ...Object.fromEntries(fields), event_id } }
}
