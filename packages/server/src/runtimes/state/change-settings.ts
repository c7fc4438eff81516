import type { EventType } from '@holt/protocol'
import type { Updateable } from 'kysely'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { isAlive } from '../../foundation/rows/states.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { RuntimeRow, Tables } from '../../foundation/store/tables.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import type { Runtimes } from '../runtimes.ts'

/** The columns of a runtime that a request changes, and the event that reports it. */
export interface SettingsChange {
  readonly set: Omit<Updateable<Tables['runtimes']>, 'state' | 'revision' | 'updated_at'>
  readonly type: EventType
  readonly data: object
}

/**
 * Changes settings of a runtime that is alive, and returns its new row. `decide` sees the row as
 * read inside the transaction, so concurrent requests are separate transactions. Throws
 * `runtime_not_found`, an error that says why the runtime is not alive, or the error of `decide`.
 */
export async function changeSettings(
  { store, now }: Runtimes,
  ref: RuntimeRef,
  decide: (row: RuntimeRow, at: number) => SettingsChange,
): Promise<RuntimeRow> {
  const at = now()
  return store.change(aloneWith(ref.projectId), async (changes) => {
    const row = await findRuntime({ store: { db: changes } }, ref)
    if (!isAlive(row.state)) throw notRunning(row)
    const { set, type, data } = decide(row, at)
    const changed = await changes
      .updateTable('runtimes')
      .set({ ...set, updated_at: at, revision: row.revision + 1 })
      .where('project_id', '=', row.project_id)
      .where('runtime_id', '=', row.runtime_id)
      .returningAll()
      .executeTakeFirstOrThrow()
    await recordEvent(changes, { projectId: row.project_id, type, subjectId: row.runtime_id, data, at })
    return changed
  })
}
