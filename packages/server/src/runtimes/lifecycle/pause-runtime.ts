import type { CheckpointInfo } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { HoltError } from '@holt/protocol'
import { makeCheckpointId } from '../../foundation/rows/checkpoint-id.ts'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { isAlive, isDeleted } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { requireQuotas } from '../../tenancy/projects/require-quotas.ts'
import type { Runtimes } from '../runtimes.ts'
import { requireCheckpoints } from '../state/can-pause.ts'
import { changeState, type Reason } from '../state/change-state.ts'
import { writeDown, writeTimeoutMs } from '../state/write-down.ts'
import { finished } from './recover-pause.ts'
import { becomePaused, settlePausing } from './settle-pausing.ts'

/** The reasons for a pause. */
export const pauseReasons = {
  requested: { code: 'requested', message: 'It was paused by a request.' },
  timeout: { code: 'timeout', message: 'Its timeout_secs had passed.' },
  idle: { code: 'idle', message: 'It was unused for its idle_timeout_secs.' },
} as const satisfies Record<string, Reason>

/**
 * Pauses a running runtime: stores its processes, memory and files, and releases its resources on
 * the host. A paused runtime is unchanged. If the checkpoint fails, the runtime continues. `still`
 * is a last check for automatic pauses: if it returns false, the runtime continues. It is not asked
 * for a runtime that ends meanwhile.
 */
export async function pauseRuntime(
  service: Runtimes,
  ref: RuntimeRef,
  reason: Reason,
  still: ((row: RuntimeRow) => boolean) | null = null,
): Promise<RuntimeRow> {
  for (;;) {
    const row = await pauseOnce(service, ref, { reason, still })
    // The pause that was joined may have been one that nobody asked for, and that was not due any
    // more.
    if (row.state === 'paused' || still !== null) return row
  }
}

interface Wanted {
  readonly reason: Reason
  readonly still: ((row: RuntimeRow) => boolean) | null
}

function pauseOnce(service: Runtimes, ref: RuntimeRef, { reason, still }: Wanted): Promise<RuntimeRow> {
  return service.transitions.run(ref.runtimeId, 'pause', async (stopped) => {
    const checkpointId = makeCheckpointId()
    const row = await begin(service, ref, { reason, still, checkpointId })
    if (row.pause_checkpoint_id !== checkpointId) return row
    try {
      await failpoint('pause.pausing')
      return await write(service, ref, { checkpointId, stopped })
    } catch (error) {
      const row = await findRuntime(service, ref)
      // A delete changes the row before it stops what is under way.
      if (!stopped.aborted && !isDeleted(row.state)) throw error
      if (still !== null) return row
      throw new HoltError('runtime_terminated', 'The runtime was deleted while it was paused.')
    }
  })
}

/**
 * Sets the state `pausing` with the id of the checkpoint. Returns the row unchanged if no pause is
 * needed.
 */
async function begin(
  service: Runtimes,
  ref: RuntimeRef,
  { reason, still, checkpointId }: Wanted & { readonly checkpointId: string },
): Promise<RuntimeRow> {
  for (;;) {
    const row = await finished(service, ref)
    if (row.state === 'paused' || (still !== null && !isAlive(row.state))) return row
    if (row.state !== 'running') throw notRunning(row)
    await requireCheckpoints(service, row)
    if (still?.(row) === false) return row
    const pausing = await changeState(service, row, {
      to: 'pausing',
      reason,
      set: { pause_checkpoint_id: checkpointId },
      require: async (changes) => {
        await requireQuotas(service, changes, { projectId: ref.projectId, adds: { paused_runtimes: 1 } })
      },
    })
    // Where somebody has changed the row meanwhile, as with another deadline, it may need no pause
    // any more.
    if (pausing !== null) return pausing
  }
}

async function write(
  service: Runtimes,
  ref: RuntimeRef,
  { checkpointId, stopped }: { checkpointId: string; stopped: AbortSignal },
): Promise<RuntimeRow> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(writeTimeoutMs)])
  // The row says so before requests are let in again, which then bring it back.
  const onTaken = async (info: CheckpointInfo) => {
    service.restores.note(info)
    await becomePaused(service, ref)
  }
  try {
    await writeDown(service, ref.runtimeId, { checkpointId, leaveRunning: false, onTaken }, signal)
    return await findRuntime(service, ref)
  } catch (error) {
    if (stopped.aborted) throw error
    service.log.warn({ err: error, runtime_id: ref.runtimeId }, 'the pause of a runtime failed')
    const row = await settlePausing(service, ref)
    if (row.state === 'paused') return row
    throw error
  }
}
