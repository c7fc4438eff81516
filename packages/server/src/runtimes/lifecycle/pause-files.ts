import { failpoint } from '@holt/failpoints'
import { HoltError } from '@holt/protocol'
import { isEngineError } from '../../foundation/errors/engine-errors.ts'
import { makeCheckpointId } from '../../foundation/rows/checkpoint-id.ts'
import { type RuntimeRef, refOf } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { importFiles, requireRoomForFiles } from '../snapshots/import-files.ts'
import { writeTimeoutMs } from '../state/write-down.ts'
import { beginPause, endOfPause, type PauseWish } from './begin-pause.ts'
import { becomePausedWithFiles, removePaused } from './paused-with-files.ts'
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
  reason: PauseWish['reason'],
  still: PauseWish['still'] = null,
): Promise<RuntimeRow> {
  return service.transitions.run(ref.runtimeId, 'pause of files', async (stopped) => {
    const row = await beginPause(service, ref, { reason, still, checkpointId: null })
    if (row.state !== 'pausing') return row
    try {
      await failpoint('pause-files.pausing')
      return await keepFiles(service, row, stopped)
    } catch (error) {
      return await endOfPause(service, ref, { error, stopped, still })
    }
  })
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
    if (settled.state === 'paused') {
      await removePaused(service, ref)
      return settled
    }
    if (!isEngineError(error) || error.kind !== 'invalid') throw error
    throw new HoltError('conflict', 'The files of the runtime are too many, or cannot be read as an image.', {
      hint: 'Remove files, or pause with the memory.',
      cause: error,
    })
  } finally {
    service.holds.release(holder)
  }
}
