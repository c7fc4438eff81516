import { HoltError } from '@holt/protocol'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { isAlive, isDeleted } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { requireQuotas } from '../../tenancy/projects/require-quotas.ts'
import type { Runtimes } from '../runtimes.ts'
import { requireCheckpoints } from '../state/can-pause.ts'
import { changeState, type Reason } from '../state/change-state.ts'
import { finished } from './recover-pause.ts'

/** The code of the reason of a pause by which a runtime moves to another host. */
export const movingCode = 'moving'

/** The reason for a pause, and its last check, as for `pauseRuntime`. */
export interface PauseWish {
  readonly reason: Reason
  readonly still: ((row: RuntimeRow) => boolean) | null
}

/**
 * Sets the state `pausing` with the id of the checkpoint; null: the pause keeps the files alone.
 * Returns the row unchanged if no pause is needed.
 */
export async function beginPause(
  service: Runtimes,
  ref: RuntimeRef,
  { reason, still, checkpointId }: PauseWish & { readonly checkpointId: string | null },
): Promise<RuntimeRow> {
  for (;;) {
    const row = await finished(service, ref)
    if (row.state === 'paused' || (still !== null && !isAlive(row.state))) return row
    if (row.state !== 'running') throw notRunning(row)
    if (checkpointId !== null) await requireCheckpoints(service, row)
    if (still?.(row) === false) return row
    const pausing = await changeState(service, row, {
      to: 'pausing',
      reason,
      set: { pause_checkpoint_id: checkpointId },
      require: async (changes) => {
        // The operator moves it, and not its project.
        if (reason.code === movingCode) return
        await requireQuotas(service, changes, { projectId: ref.projectId, adds: { paused_runtimes: 1 } })
      },
    })
    // If a request has changed the row meanwhile, for example the deadline, the runtime may need no
    // pause.
    if (pausing !== null) return pausing
  }
}

/**
 * Returns the row after a pause that failed because the runtime was deleted, if the pause was an
 * automatic one. Throws `runtime_terminated` for a requested one, and every other error again.
 */
export async function endOfPause(
  service: Runtimes,
  ref: RuntimeRef,
  { error, stopped, still }: Pick<PauseWish, 'still'> & { readonly error: unknown; readonly stopped: AbortSignal },
): Promise<RuntimeRow> {
  const row = await findRuntime(service, ref)
  // A delete changes the row before it stops other transitions.
  if (!stopped.aborted && !isDeleted(row.state)) throw error
  if (still !== null) return row
  throw new HoltError('runtime_terminated', 'The runtime was deleted while it was paused.')
}
