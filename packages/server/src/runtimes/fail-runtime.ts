import type { Ending } from '@holt/engine'
import type { Service } from '../service.ts'
import { changeState, type Reason } from './change-state.ts'
import { findRuntime, type RuntimeRef } from './find-runtime.ts'
import { mayFollow } from './states.ts'

/** Time to remove what is left of a runtime that ended by itself. */
const removeTimeoutMs = 30_000

const endings: Readonly<Record<Ending['reason'], string>> = {
  out_of_memory: 'The runtime used all its memory, and the kernel ended it.',
  crashed: 'The runtime ended by itself.',
  host_restarted: 'The host was restarted.',
  start_failed: 'The runtime never ran.',
}

/** A state reason for what the engine saw. The engine's own words are for the log. */
export function reasonOf({ reason }: Ending): Reason {
  return { code: reason, message: endings[reason] }
}

/** Marks a runtime that is over as `failed` and lets go of what the host keeps of it. A row that is past failing is left as it is. */
export async function failRuntime(service: Service, ref: RuntimeRef, reason: Reason): Promise<void> {
  for (;;) {
    const row = await findRuntime(service, ref)
    if (!mayFollow(row.state, 'failed')) return
    if ((await changeState(service, row, { to: 'failed', reason })) !== null) break
  }
  service.log.warn({ runtime_id: ref.runtimeId, reason }, 'a runtime failed')
  await service.networks.forget(ref)
  await service.engine.remove(ref.runtimeId, AbortSignal.timeout(removeTimeoutMs))
}
