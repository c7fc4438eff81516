import type { RuntimeState } from '@holt/protocol'
import { recordEvent } from '../events/record-event.ts'
import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'
import { hasEnded, mayFollow } from './states.ts'

/** Why a runtime is in its state. */
export interface Reason {
  readonly code: string
  readonly message: string
}

/**
 * Moves a runtime to its next state: row and event in one transaction, only if nobody changed the row since it was read.
 * Answers the row as it is then; null when somebody did, and the caller reads it again.
 */
export async function changeState(
  service: Service,
  row: RuntimeRow,
  { to, reason = null }: { to: RuntimeState; reason?: Reason | null },
): Promise<RuntimeRow | null> {
  if (!mayFollow(row.state, to)) throw new Error(`a runtime that is ${row.state} cannot become ${to}`)
  const at = service.now()
  return service.store.change(async (changes) => {
    const changed = await changes
      .updateTable('runtimes')
      .set({
        state: to,
        state_reason_json: reason === null ? row.state_reason_json : JSON.stringify(reason),
        updated_at: at,
        revision: row.revision + 1,
        ...(to === 'running' ? { started_at: at } : {}),
        ...(hasEnded(to) ? { ended_at: at } : {}),
      })
      .where('project_id', '=', row.project_id)
      .where('runtime_id', '=', row.runtime_id)
      .where('revision', '=', row.revision)
      .returningAll()
      .executeTakeFirst()
    if (changed === undefined) return null
    await recordEvent(changes, {
      projectId: row.project_id,
      type: `runtime.${to}`,
      subjectId: row.runtime_id,
      data: { from: row.state, to, reason },
      at,
    })
    return changed
  })
}
