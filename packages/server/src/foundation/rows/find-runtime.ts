import { HoltError, isIdParam, StateReason } from '@holt/protocol'
import { idNotFound } from '../errors/not-found.ts'
import type { Foundation } from '../foundation.ts'
import { requireOwn } from '../host/require-own.ts'
import { compileOnce } from '../store/compile-once.ts'
import type { RuntimeRow } from '../store/tables.ts'
import { isDeleted } from './states.ts'

/** The project and the id of a runtime. */
export interface RuntimeRef {
  readonly projectId: string
  readonly runtimeId: string
}

/** Returns the project and the id of a row's runtime. */
export function refOf(row: Pick<RuntimeRow, 'project_id' | 'runtime_id'>): RuntimeRef {
  return { projectId: row.project_id, runtimeId: row.runtime_id }
}

/** The values are the project and the runtime. */
const rowsOf = compileOnce((db, [projectId, runtimeId]) =>
  db
    .selectFrom('runtimes')
    .selectAll()
    .where('project_id', '=', projectId as string)
    .where('runtime_id', '=', runtimeId as string),
)

/** Returns a project's runtime. A runtime of another project is not found. */
export async function findRuntime(
  { store }: { readonly store: Pick<Foundation['store'], 'db'> },
  { projectId, runtimeId }: RuntimeRef,
): Promise<RuntimeRow> {
  const [row] = isIdParam('runtime_id', runtimeId) ? await rowsOf(store.db, [projectId, runtimeId]) : []
  if (row === undefined) throw idNotFound('runtime_not_found', runtimeId)
  return row
}

/** Returns a project's running runtime. Does not resume a paused one. */
export async function findRunning(service: Foundation, ref: RuntimeRef): Promise<RuntimeRow> {
  const row = await findRuntime(service, ref)
  if (row.state !== 'running') throw notRunning(row)
  requireOwn(service, row)
  return row
}

/** Returns the error for a runtime that does not run. */
export function notRunning(row: RuntimeRow): HoltError {
  const details = { runtime_id: row.runtime_id, state: row.state }
  if (isDeleted(row.state)) {
    return new HoltError('runtime_terminated', `The runtime is ${row.state}.`, { details })
  }
  if (row.state === 'paused' || row.state === 'pausing')
    return new HoltError('runtime_paused', `The runtime is ${row.state}.`, { details })
  const reason = row.state_reason_json === null ? null : StateReason.parse(JSON.parse(row.state_reason_json))
  if (reason === null)
    return new HoltError('runtime_not_running', `The runtime is ${row.state}, not running.`, { details })
  return new HoltError('runtime_not_running', `The runtime is ${row.state} (${reason.code}): ${reason.message}`, {
    details: { ...details, state_reason: reason },
  })
}
