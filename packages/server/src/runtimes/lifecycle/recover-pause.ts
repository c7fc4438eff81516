import { requireOwn } from '../../foundation/host/require-own.ts'
import { findRuntime, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { isAlive } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { backToPaused } from './back-to-paused.ts'
import { settlePausing } from './settle-pausing.ts'

/** The time limit for the removal of a paused runtime from the engine, in milliseconds. */
const removeTimeoutMs = 60_000

/** The reason for a runtime whose resume was interrupted by the end of the service. */
export const interrupted = {
  code: 'interrupted',
  message: 'The service stopped while it resumed the runtime.',
} as const

/**
 * Completes a pause or resume that no process works on, and removes the rest of a paused runtime
 * from the engine. Only for callers that wait: a request to pause or resume such a runtime calls
 * this first (`finished`).
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
 * Returns a runtime's row after an interrupted transition is completed. Call it only within a
 * transition of this runtime. Throws `unavailable` if another host has it.
 */
export async function finished(service: Runtimes, ref: RuntimeRef): Promise<RuntimeRow> {
  const row = await findRuntime(service, ref)
  if (row.state === 'pausing' || row.state === 'resuming') requireOwn(service, row)
  if (row.state === 'pausing') return settlePausing(service, ref)
  if (row.state === 'resuming') return backToPaused(service, ref, interrupted)
  return row
}
