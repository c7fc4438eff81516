import type { Ending } from '@holt/engine'
import { refOf } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { changeState, type Reason } from './change-state.ts'
import { collectAfter } from './collect-after.ts'

/** The time limit for the removal of an ended runtime, in milliseconds. */
const removeTimeoutMs = 30_000

const endings: Readonly<Record<Ending['reason'], string>> = {
  out_of_memory: 'The runtime exceeded its memory limit and was ended.',
  crashed: 'The runtime ended by itself.',
  host_restarted: 'The host was restarted.',
  start_failed: 'The runtime never ran.',
}

/** The reason for a start that no process works on. */
export const startInterrupted: Reason = {
  code: 'interrupted',
  message: 'The service stopped while it made this runtime.',
}

/** The reason for a runtime that the engine does not know. */
export const lost: Reason = { code: 'lost', message: 'The host no longer has this runtime.' }

/**
 * Returns the state reason for an observation of the engine. The engine's own message is only
 * logged.
 */
export function reasonOf({ reason }: Ending): Reason {
  return { code: reason, message: endings[reason] }
}

/**
 * Marks an ended runtime as `failed`, and releases its resources on the host. `row` is the row at
 * the time of the observation. If it has changed since, nothing happens, because a pause may be the
 * cause. Returns true if the runtime has failed.
 */
export async function failRuntime(service: Runtimes, row: RuntimeRow, reason: Reason): Promise<boolean> {
  if ((await changeState(service, row, { to: 'failed', reason })) === null) return false
  const ref = refOf(row)
  service.log.warn({ runtime_id: ref.runtimeId, reason }, 'a runtime failed')
  await service.networks.forget(ref)
  service.links.forget(ref.runtimeId)
  await service.engine.remove(ref.runtimeId, AbortSignal.timeout(removeTimeoutMs))
  void collectAfter(service, row)
  return true
}
