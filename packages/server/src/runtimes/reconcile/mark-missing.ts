import type { Engine } from '@holt/engine'
import { filesMissing } from '../../foundation/rows/files-missing.ts'
import type { SnapshotRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { markLacking } from '../snapshots/snapshot-rows.ts'
import { loseTemplate, markWholeAgain } from './change-missing.ts'
import { countMissing, findMissing, type Missing, missingFileOf, type Present } from './find-missing.ts'

/**
 * Marks snapshots and templates whose files are missing, for example after an import of rows alone.
 * Marks those whose files have returned as ready. Runs only at a start, because nothing removes
 * such a file while the service runs. A paused runtime keeps its state, and its resume returns the
 * error.
 */
export async function markMissing(service: Runtimes): Promise<void> {
  const present = await presentIn(service.engine)
  if (present === null) return
  const { db } = service.store
  await markWholeAgain(service, (row) => missingFileOf(row, present) === null)
  const missing = await findMissing(db, present, service.config.fleet === null ? null : service.thisHost.hostId)
  const stored = await storedSnapshots(service, missing)
  for (const { row, file } of missing.snapshots)
    if (!stored.has(row.snapshot_id)) await markLacking(service, row, filesMissing(file))
  for (const { row, file } of missing.templates) await loseTemplate(service, row, filesMissing(file))
  const counts = countMissing(missing)
  const [first] = [...missing.snapshots, ...missing.templates, ...missing.runtimes]
  if (first !== undefined)
    service.log.warn({ ...counts, first: first.file }, 'files that the store names are not in the state directory')
}

/** Returns the snapshots without files here that are in the object store of the fleet. */
async function storedSnapshots(
  { artifacts }: Runtimes,
  { snapshots }: Pick<Missing, 'snapshots'>,
): Promise<ReadonlySet<string>> {
  if (!artifacts.isShared || snapshots.length === 0) return new Set()
  const idsOf = ({ image_digest, checkpoint_id }: SnapshotRow) =>
    checkpoint_id === null ? [image_digest] : [image_digest, checkpoint_id]
  const stored = new Set(await artifacts.storedAmong(snapshots.flatMap(({ row }) => idsOf(row))))
  const whole = snapshots.filter(({ row }) => idsOf(row).every((id) => stored.has(id)))
  return new Set(whole.map(({ row }) => row.snapshot_id))
}

/** Returns the content of the state directory, or null if the engine stores no files. */
async function presentIn(engine: Engine): Promise<Present | null> {
  const images = engine.ability('images')
  const listed = await images?.list()
  const checkpoints = await engine.ability('checkpoints')?.list()
  if (images == null || listed === undefined || checkpoints === undefined) return null
  const whole = new Set<string>()
  // The list includes damaged images.
  for (const { digest } of listed) if (await images.has(digest)) whole.add(digest)
  return {
    images: whole,
    checkpoints: new Set(checkpoints.map(({ checkpointId }) => checkpointId)),
  }
}
