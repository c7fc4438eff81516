import { GuestClient } from '@holt/guest-client'
import { isEngineError } from '../../foundation/errors/engine-errors.ts'
import { findRunning } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow, SnapshotRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { writeDown } from '../state/write-down.ts'
import { type ImportedFiles, importFiles, requireRoomForFiles } from './import-files.ts'

/**
 * The maximum number of attempts to read all files. A checkpoint of the runtime interrupts an
 * attempt.
 */
const maxReadings = 3

/**
 * Writes the memory or the files of a runtime, by the snapshot's kind. The runtime continues.
 */
export async function writeSnapshot(
  service: Runtimes,
  { row, runtime }: { row: SnapshotRow; runtime: RuntimeRow },
  signal: AbortSignal,
): Promise<ImportedFiles> {
  if (row.checkpoint_id === null) return writeFiles(service, { row, runtime }, signal)
  const what = { checkpointId: row.checkpoint_id, leaveRunning: true, recordFiles: row.record_files === 1 }
  const { sizeBytes } = await writeDown(service, runtime.runtime_id, what, signal)
  return { imageDigest: runtime.image_digest, sizeBytes }
}

/** Reads the files of a running runtime into an image. The image is held for the snapshot. */
async function writeFiles(
  service: Runtimes,
  work: { row: SnapshotRow; runtime: RuntimeRow },
  signal: AbortSignal,
): Promise<ImportedFiles> {
  const { row, runtime } = work
  for (let readings = 1; ; readings += 1) {
    try {
      await requireRoomForFiles(service, runtime)
      const guest = new GuestClient(await service.links.dial(runtime.runtime_id, signal))
      return await importFiles(service, { runtime, guest, holder: row.snapshot_id, still: false }, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (!isEngineError(error) || error.kind !== 'unavailable' || readings === maxReadings) throw error
      await findRunning(service, { projectId: runtime.project_id, runtimeId: runtime.runtime_id })
    }
  }
}
