import { findRuntime, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { isAlive } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { backToPaused } from './back-to-paused.ts'
import { settlePausing } from './settle-pausing.ts'

/** Time to remove what is left of a runtime that is paused. */
const removeTimeoutMs = 60_000

/** Why a runtime is paused whose resume the end of the service cut off. */
export const interrupted = {
  code: 'interrupted',
  message: 'The service stopped while it resumed the runtime.',
} as const

/**
 * Goes on with a pause or a resume that nobody works on, as the end of the service leaves it, and
 * takes away what the engine has of a runtime that is paused. Only for those who wait for it: what
 * asks for a pause or a resume of such a runtime does this first (`finished`).
 */
export async function recoverPause(
  service: Runtimes,
  { project_id: projectId, runtime_id: runtimeId }: RuntimeRow,
): Promise<void> {
  const ref: RuntimeRef = { projectId, runtimeId }
  try {
    await service.transitions.run(runtimeId, 'recovery', async () => {
      const row = await finished(service, ref)
      if (row.state === 'paused') await service.engine.remove(runtimeId, AbortSignal.timeout(removeTimeoutMs))
      return row
    })
  } catch (err) {
    if (isAlive((await findRuntime(service, ref)).state)) throw err
    service.log.debug({ err, runtime_id: runtimeId }, 'a runtime ended while its pause or resume was finished')
  }
}

/**
 * A runtime's row after what was cut off is finished. Within a transition alone, when nobody else
 * works on one.
 */
export async function finished(service: Runtimes, ref: RuntimeRef): Promise<RuntimeRow> {
  const row = await findRuntime(service, ref)
  if (row.state === 'pausing') return settlePausing(service, ref)
  if (row.state === 'resuming') return backToPaused(service, ref, interrupted)
  return row
}
