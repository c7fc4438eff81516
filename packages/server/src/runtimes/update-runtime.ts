import type { UpdateRuntime } from '@holt/protocol'
import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'
import { findRuntime, notRunning, type RuntimeRef } from './find-runtime.ts'

/** Changes a runtime's labels or deadline. A deadline counts from now. */
export async function updateRuntime(service: Service, ref: RuntimeRef, change: UpdateRuntime): Promise<RuntimeRow> {
  for (;;) {
    const row = await findRuntime(service, ref)
    if (row.state !== 'running' && row.state !== 'starting') throw notRunning(row)
    const changed = await write(service, row, change)
    if (changed !== null) return changed
  }
}

async function write(
  { store, now }: Service,
  row: RuntimeRow,
  { metadata, timeout_secs, on_timeout }: UpdateRuntime,
): Promise<RuntimeRow | null> {
  const at = now()
  const changed = await store.db
    .updateTable('runtimes')
    .set({
      ...(metadata === undefined ? {} : { metadata_json: JSON.stringify(metadata) }),
      ...(timeout_secs === undefined
        ? {}
        : { timeout_secs, expires_at: timeout_secs === null ? null : at + timeout_secs * 1000 }),
      ...(on_timeout === undefined ? {} : { on_timeout }),
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
