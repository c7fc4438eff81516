import type { Ending } from '@holt/engine'
import { refOf } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { changeState, type Reason } from './change-state.ts'
import { collectAfter } from './collect-after.ts'

/** Time to remove what is left of a runtime that ended by itself. */
const removeTimeoutMs = 30_000

const endings: Readonly<Record<Ending['reason'], string>> = {
  out_of_memory: 'The runtime exceeded its memory limit and was ended.',
  crashed: 'The runtime ended by itself.',
  host_restarted: 'The host was restarted.',
  start_failed: 'The runtime never ran.',
}

/** Why a runtime has failed whose start nobody works on any more. */
export const startInterrupted: Reason = {
  code: 'interrupted',
  message: 'The service stopped while it made this runtime.',
}

/** Why a runtime has failed that the engine knows nothing of. */
export const lost: Reason = { code: 'lost', message: 'The host no longer has this runtime.' }

/** A state reason for what the engine saw. The engine's own words are for the log. */
export function reasonOf({ reason }: Ending): Reason {
  return { code: reason, message: endings[reason] }
}

/**
 * Marks a runtime that is over as `failed` and lets go of what the host keeps of it. `row` is what
 * it was when that was seen: where it has changed since, nothing is done, for what was seen may be
 * the doing of a pause. Answers whether it has failed.
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
