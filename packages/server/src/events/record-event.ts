import { makeId } from '@holt/protocol'
import type { Queries } from '../store/open-store.ts'

/** Something that happened to a thing of a project. */
export interface NewEvent {
  readonly projectId: string
  /** For example `runtime.running`. */
  readonly type: string
  readonly subjectId: string
  readonly data: object
  readonly at: number
}

/** Writes an event; in the transaction of the change that it tells of. */
export async function recordEvent(db: Queries, event: NewEvent): Promise<void> {
  await db
    .insertInto('events')
    .values({
      event_id: makeId('event'),
      project_id: event.projectId,
      type: event.type,
      subject_id: event.subjectId,
      data_json: JSON.stringify(event.data),
      at: event.at,
    })
    .execute()
}
