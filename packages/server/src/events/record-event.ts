import { type EventType, makeId } from '@holt/protocol'
import { entryFor, noteSubject, writeEntry } from '../audit/audit-entry.ts'
import { systemProjectId } from '../projects/system-project.ts'
import type { Queries } from '../store/open-store.ts'
import { actingRequest } from './acting.ts'
import { noteProject } from './event-news.ts'

/** Something that happened to a thing of a project. */
export interface NewEvent {
  readonly projectId: string
  readonly type: EventType
  readonly subjectId: string
  /**
   * Nothing secret: whoever may read the events of the project sees it, and webhooks send it. `by`
   * is the key that asked.
   */
  readonly data: object
  readonly at: number
}

/**
 * Writes an event, in the transaction of the change that it tells of, and with it who asked for the
 * change. Its cursor is the next one of the project's log: the row that counts them is written by
 * one transaction at a time, so that cursors are committed in order and without gaps.
 */
export async function recordEvent(changes: Queries, event: NewEvent): Promise<void> {
  const { projectId, subjectId } = event
  const acting = actingRequest()
  const isForeign = acting !== null && acting.projectId !== projectId
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
      data_json: JSON.stringify(isForeign ? withoutKey(event.data) : event.data),
      at: event.at,
      cursor: Number(last),
      key_id: isForeign ? null : (acting?.keyId ?? null),
    })
    .execute()
  noteProject(changes, projectId)
  if (acting === null || acting.entry === null) return
  noteSubject(acting.entry, subjectId, 'event')
  await writeEntry(changes, acting.entry)
  if (!isForeign || projectId === systemProjectId) return
  const told = entryFor(acting.entry, projectId)
  noteSubject(told, subjectId, 'event')
  await writeEntry(changes, told)
}

/** A key of another project, an operator's, is none of this project's business. */
function withoutKey(data: object): object {
  return Object.fromEntries(Object.entries(data).filter(([name]) => name !== 'by'))
}
