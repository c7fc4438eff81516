import { type EventType, type HostEventType, makeId } from '@holt/protocol'
import { entryFor, noteSubject, writeEntry } from '../../foundation/request/audit-entry.ts'
import { actingRequest } from '../../foundation/request/request-context.ts'
import { systemProjectId } from '../../foundation/rows/system-project.ts'
import type { Changes } from '../../foundation/store/open-store.ts'

/** An event of a thing of a project. */
export interface NewEvent {
  readonly projectId: string
  readonly type: EventType | HostEventType
  readonly subjectId: string
  /**
   * The public data, without secrets: readers of the project's events see it, and webhooks send it.
   * `by` is the key of the request.
   */
  readonly data: object
  readonly at: number
}

/**
 * Writes an event and the key of its request, in the transaction of the change. The cursor is the
 * next one of the project's log. Only one transaction at a time writes the row of the count, so
 * cursors are committed in order and without gaps.
 */
export async function recordEvent(changes: Changes, event: NewEvent): Promise<void> {
  const { projectId, subjectId } = event
  const acting = actingRequest()
  const isForeign = acting !== null && acting.projectId !== projectId
  // Operators alone read the log of Holt's own project.
  const hidesKey = isForeign && projectId !== systemProjectId
  const { last } = await changes
    .insertInto('log_positions')
    .values({ project_id: projectId, last: 1, removed: 0 })
    .onConflict((conflict) =>
      conflict.column('project_id').doUpdateSet(({ eb }) => ({ last: eb('log_positions.last', '+', 1) })),
    )
    .returning('last')
    .executeTakeFirstOrThrow()
  await changes
    .insertInto('events')
    .values({
      event_id: makeId('event'),
      project_id: projectId,
      type: event.type,
      subject_id: subjectId,
      data_json: JSON.stringify(hidesKey ? withoutKey(event.data) : event.data),
      at: event.at,
      cursor: Number(last),
      key_id: hidesKey ? null : (acting?.keyId ?? null),
    })
    .execute()
  changes.projectsWithEvents.add(projectId)
  if (acting === null || acting.entry === null) return
  noteSubject(acting.entry, subjectId, 'event')
  await writeEntry(changes, acting.entry)
  if (!isForeign || projectId === systemProjectId) return
  const told = entryFor(acting.entry, projectId)
  noteSubject(told, subjectId, 'event')
  await writeEntry(changes, told)
}

/**
 * Removes the key from an event's data. An operator's key belongs to another project and stays
 * hidden.
 */
function withoutKey(data: object): object {
  return Object.fromEntries(Object.entries(data).filter(([name]) => name !== 'by'))
}
