import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import type { Reason } from '../state/change-state.ts'
import { pauseFiles } from './pause-files.ts'
import { pauseRuntime } from './pause-runtime.ts'

/**
 * Pauses a runtime that is due, and keeps what its settings say. `still` is as for `pauseRuntime`.
 */
export function pauseAsSet(
  service: Runtimes,
  row: Pick<RuntimeRow, 'project_id' | 'runtime_id' | 'pause_kind'>,
  reason: Reason,
  still: (row: RuntimeRow) => boolean,
): Promise<RuntimeRow> {
  const pause = row.pause_kind === 'filesystem' ? pauseFiles : pauseRuntime
  return pause(service, { projectId: row.project_id, runtimeId: row.runtime_id }, reason, still)
}
