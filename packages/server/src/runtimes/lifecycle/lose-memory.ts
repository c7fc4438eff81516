import { failpoint } from '@holt/failpoints'
import { GuestClient } from '@holt/guest-client'
import { makeCheckpointId } from '../../foundation/rows/checkpoint-id.ts'
import { notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { specOf } from '../create/start-runtime.ts'
import type { Runtimes } from '../runtimes.ts'
import { importFiles } from '../snapshots/import-files.ts'
import { dropCheckpoint } from '../state/drop-checkpoint.ts'
import { writeTimeoutMs } from '../state/write-down.ts'
import { becomePausedWithFiles } from './paused-with-files.ts'
import { finished } from './recover-pause.ts'
import { admitBack, fetchNeeded, giveUpResume } from './resume-runtime.ts'

/** The time limit for the removal of an earlier resume, in milliseconds. */
const removeTimeoutMs = 60_000

/**
 * Discards the memory of a paused runtime, and keeps its files: the next resume boots. The memory
 * comes back for that without a network, and its programs are stopped while the files are read. If
 * that fails, the runtime stays paused as it was. A runtime that runs, or has no memory, is
 * unchanged.
 */
export function loseMemory(service: Runtimes, ref: RuntimeRef): Promise<RuntimeRow> {
  return service.transitions.run(ref.runtimeId, 'loss of memory', async (stopped) => {
    const row = await finished(service, ref)
    if (row.state === 'running' || (row.state === 'paused' && row.pause_checkpoint_id === null)) return row
    if (row.state !== 'paused') throw notRunning(row)
    try {
      return await readBack(service, await admitBack(service, row), stopped)
    } finally {
      service.restores.end(ref.runtimeId)
    }
  })
}

async function readBack(service: Runtimes, row: RuntimeRow, stopped: AbortSignal): Promise<RuntimeRow> {
  const { engine, restores, holds } = service
  const { project_id: projectId, runtime_id: runtimeId, pause_checkpoint_id: checkpointId } = row
  const signal = AbortSignal.any([stopped, service.closing, AbortSignal.timeout(writeTimeoutMs)])
  const holder = makeCheckpointId()
  try {
    await engine.remove(runtimeId, AbortSignal.timeout(removeTimeoutMs))
    await fetchNeeded(service, row, signal)
    await engine.ensure({ ...specOf(row, { restoreOnly: true }), checkpointId }, signal)
    await failpoint('lose-memory.restored')
    const guest = new GuestClient(await engine.dial(runtimeId, signal))
    const { imageDigest } = await importFiles(service, { runtime: row, guest, holder, still: true }, signal)
    await failpoint('lose-memory.imported')
    const paused = await becomePausedWithFiles(service, row, { imageDigest, from: 'resuming' })
    if (checkpointId !== null) {
      restores.forget(checkpointId)
      void dropCheckpoint(service, checkpointId)
    }
    return paused
  } catch (error) {
    return await giveUpResume(service, { projectId, runtimeId }, { error, stopped })
  } finally {
    holds.release(holder)
  }
}
