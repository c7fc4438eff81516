import type { UpdateRuntime } from '@holt/protocol'
import { recordEvent } from '../events/record-event.ts'
import { canPause } from '../lifecycle/can-pause.ts'
import { expiresAt, requireNoPause } from '../lifecycle/deadline.ts'
import type { Service } from '../service.ts'
import type { Queries } from '../store/open-store.ts'
import type { RuntimeRow } from '../store/tables.ts'
import { findRuntime, notRunning, type RuntimeRef } from './find-runtime.ts'
import { isAlive } from './states.ts'

/** Changes a runtime's labels or deadline. A deadline counts from now, and that of a paused runtime from its resume. */
export async function updateRuntime(service: Service, ref: RuntimeRef, change: UpdateRuntime): Promise<RuntimeRow> {
  for (;;) {
    const row = await findRuntime(service, ref)
    if (!isAlive(row.state)) throw notRunning(row)
    if (!(await canPause(service, row))) requireNoPause(change)
    const changed = await write(service, row, change)
    if (changed !== null) return changed
  }
}

async function write({ store, now }: Service, row: RuntimeRow, change: UpdateRuntime): Promise<RuntimeRow | null> {
  const at = now()
  return store.change(async (changes) => {
    const changed = await updateRow(changes, row, { change, at })
    if (changed === null) return null
    await recordEvent(changes, {
      projectId: row.project_id,
      type: 'runtime.updated',
      subjectId: row.runtime_id,
      data: { changed: Object.keys(change) },
      at,
    })
    return changed
  })
}

async function updateRow(
  changes: Queries,
  row: RuntimeRow,
  { change, at }: { change: UpdateRuntime; at: number },
): Promise<RuntimeRow | null> {
  const { metadata, timeout_secs, on_timeout, idle_timeout_secs, auto_resume } = change
  const counts = row.state !== 'paused'
  const changed = await changes
    .updateTable('runtimes')
    .set({
      ...(metadata === undefined ? {} : { metadata_json: JSON.stringify(metadata) }),
      ...(timeout_secs === undefined ? {} : { timeout_secs }),
      ...(timeout_secs !== undefined && counts ? { expires_at: expiresAt(timeout_secs, at) } : {}),
      ...(on_timeout === undefined ? {} : { on_timeout }),
      ...(idle_timeout_secs === undefined ? {} : { idle_timeout_secs }),
      ...(auto_resume === undefined ? {} : { auto_resume: auto_resume ? 1 : 0 }),
      updated_at: at,
      revision: row.revision + 1,
    })
    .where('project_id', '=', row.project_id)
    .where('runtime_id', '=', row.runtime_id)
    .where('revision', '=', row.revision)
    .returningAll()
    .executeTakeFirst()
  return changed ?? null
}
