import { failpoint } from '@holt/failpoints'
import { HoltError } from '@holt/protocol'
import { isEngineError } from '../../foundation/errors/engine-errors.ts'
import { makeCheckpointId } from '../../foundation/rows/checkpoint-id.ts'
import { findRuntime, notRunning, type RuntimeRef, refOf } from '../../foundation/rows/find-runtime.ts'
import { isAlive, isDeleted } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { requireQuotas } from '../../tenancy/projects/require-quotas.ts'
import type { Runtimes } from '../runtimes.ts'
import { importFiles, requireRoomForFiles } from '../snapshots/import-files.ts'
import { changeState, type Reason } from '../state/change-state.ts'
import { writeTimeoutMs } from '../state/write-down.ts'
import { becomePausedWithFiles } from './paused-with-files.ts'
import { finished } from './recover-pause.ts'
import { settlePausing } from './settle-pausing.ts'

/**
 * Pauses a running runtime without its memory: stores its files as an image, and releases its
 * resources on the host. All processes end, and a resume boots. The files are those of one moment,
 * because the programs are stopped while they are read. If that fails, the runtime continues. A
 * paused runtime is unchanged. `still` is as for `pauseRuntime`.
 */
export function pauseFiles(
  service: Runtimes,
  ref: RuntimeRef,
  reason: Reason,
  still: ((row: RuntimeRow) => boolean) | null = null,
): Promise<RuntimeRow> {
  return service.transitions.run(ref.runtimeId, 'pause of files', async (stopped) => {
    const row = await begin(service, ref, { reason, still })
    if (row.state !== 'pausing') return row
    try {
      await failpoint('pause-files.pausing')
      return await keepFiles(service, row, stopped)
    } catch (error) {
      const now = await findRuntime(service, ref)
      // A delete changes the row before it stops what is under way.
      if (!stopped.aborted && !isDeleted(now.state)) throw error
      if (still !== null) return now
      throw new HoltError('runtime_terminated', 'The runtime was deleted while it was paused.')
    }
  })
}

interface Wanted {
  readonly reason: Reason
  readonly still: ((row: RuntimeRow) => boolean) | null
}

/** Sets the state `pausing`. Returns the row unchanged if no pause is needed. */
async function begin(service: Runtimes, ref: RuntimeRef, { reason, still }: Wanted): Promise<RuntimeRow> {
  for (;;) {
    const row = await finished(service, ref)
    if (row.state === 'paused' || (still !== null && !isAlive(row.state))) return row
    if (row.state !== 'running') throw notRunning(row)
    if (still?.(row) === false) return row
    const pausing = await changeState(service, row, {
      to: 'pausing',
      reason,
      set: { pause_checkpoint_id: null },
      require: async (changes) => {
        await requireQuotas(service, changes, { projectId: ref.projectId, adds: { paused_runtimes: 1 } })
      },
    })
    if (pausing !== null) return pausing
  }
}

async function keepFiles(service: Runtimes, row: RuntimeRow, stopped: AbortSignal): Promise<RuntimeRow> {
  const ref = refOf(row)
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(writeTimeoutMs)])
  const holder = makeCheckpointId()
  try {
    await requireRoomForFiles(service, row)
    return await service.links.hold(
      ref.runtimeId,
      async (guest) => {
        const { imageDigest } = await importFiles(service, { runtime: row, guest, holder, still: true }, signal)
        await failpoint('pause-files.imported')
        // The row says so before requests are let in again, which then bring it back.
        return becomePausedWithFiles(service, row, { imageDigest, from: 'pausing' })
      },
      signal,
    )
  } catch (error) {
    if (stopped.aborted) throw error
    service.log.warn({ err: error, runtime_id: ref.runtimeId }, 'the pause of a runtime failed')
    const settled = await settlePausing(service, ref)
    if (settled.state === 'paused') return settled
    if (!isEngineError(error) || error.kind !== 'invalid') throw error
    throw new HoltError('conflict', 'The files of the runtime are too many, or cannot be read as an image.', {
      hint: 'Remove files, or pause with the memory.',
      cause: error,
    })
  } finally {
    service.holds.release(holder)
  }
}
