import type { CheckpointInfo } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { makeCheckpointId } from '../../foundation/rows/checkpoint-id.ts'
import { findRuntime, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import type { Reason } from '../state/change-state.ts'
import { writeDown, writeTimeoutMs } from '../state/write-down.ts'
import { beginPause, endOfPause, movingCode, type PauseWish } from './begin-pause.ts'
import { becomePaused, settlePausing } from './settle-pausing.ts'

/** The reasons for a pause. */
export const pauseReasons = {
  requested: { code: 'requested', message: 'It was paused by a request.' },
  timeout: { code: 'timeout', message: 'Its timeout_secs had passed.' },
  idle: { code: 'idle', message: 'It was unused for its idle_timeout_secs.' },
  move: { code: movingCode, message: 'It moves to another host.' },
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
  still: PauseWish['still'] = null,
): Promise<RuntimeRow> {
  for (;;) {
    const row = await pauseOnce(service, ref, { reason, still })
    // The joined pause may have come from a deadline that was no longer due.
    if (row.state === 'paused' || still !== null) return row
  }
}

function pauseOnce(service: Runtimes, ref: RuntimeRef, { reason, still }: PauseWish): Promise<RuntimeRow> {
  return service.transitions.run(ref.runtimeId, 'pause', async (stopped) => {
    const checkpointId = makeCheckpointId()
    const row = await beginPause(service, ref, { reason, still, checkpointId })
    if (row.pause_checkpoint_id !== checkpointId) return row
    try {
      await failpoint('pause.pausing')
      return await write(service, ref, { checkpointId, stopped })
    } catch (error) {
      return await endOfPause(service, ref, { error, stopped, still })
    }
  })
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
