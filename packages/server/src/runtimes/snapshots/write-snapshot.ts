import type { ImageDigest } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { isEngineError } from '../../foundation/errors/engine-errors.ts'
import { findRunning } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow, SnapshotRow } from '../../foundation/store/tables.ts'
import { requireDisk } from '../admission/admit.ts'
import type { Runtimes } from '../runtimes.ts'
import { writeDown } from '../state/write-down.ts'
import { StallWatch } from './stall-watch.ts'

/** The largest image, for any disk size. */
const maxImageBytes = 64 * 2 ** 30

/** The most attempts to read all files. A checkpoint of the runtime interrupts an attempt. */
const maxReadings = 3

/**
 * The time without data after which a guest has stalled, in milliseconds. The walk of a large tree
 * is quiet for seconds.
 */
const stallTimeoutMs = 60_000

/** The durable result of a write. */
export interface Written {
  readonly imageDigest: string
  readonly sizeBytes: number
}

/** Writes the memory or the files of a runtime, by the snapshot's kind. The runtime continues. */
export async function writeSnapshot(
  service: Runtimes,
  { row, runtime }: { row: SnapshotRow; runtime: RuntimeRow },
  signal: AbortSignal,
): Promise<Written> {
  if (row.checkpoint_id === null) return writeFiles(service, { row, runtime }, signal)
  const what = { checkpointId: row.checkpoint_id, leaveRunning: true }
  const { sizeBytes } = await writeDown(service, runtime.runtime_id, what, signal)
  return { imageDigest: runtime.image_digest, sizeBytes }
}

/** Reads the files of a running runtime into an image. The image is held for the snapshot. */
async function writeFiles(
  service: Runtimes,
  work: { row: SnapshotRow; runtime: RuntimeRow },
  signal: AbortSignal,
): Promise<Written> {
  const { row, runtime } = work
  for (let readings = 1; ; readings += 1) {
    try {
      await requireRoom(service, runtime)
      return await importFiles(service, { row, runtime }, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (!isEngineError(error) || error.kind !== 'unavailable' || readings === maxReadings) throw error
      await findRunning(service, { projectId: runtime.project_id, runtimeId: runtime.runtime_id })
    }
  }
}

/**
 * Imports the guest's files. The guest is untrusted: it may be slow, or stop. Only this snapshot
 * waits for it, with a time limit.
 */
async function importFiles(
  { engine, links, holds }: Runtimes,
  { row, runtime }: { row: SnapshotRow; runtime: RuntimeRow },
  signal: AbortSignal,
): Promise<Written> {
  const images = engine.ability('images')
  if (images === null) throw new HoltError('not_supported_here', 'This host keeps no images.')
  const base = runtime.image_digest as ImageDigest
  const below = (await images.list()).find(({ digest }) => digest === base)?.sizeBytes ?? 0
  // An honest runtime has at most its image and the content of its disk, with a margin for holes.
  const maxBytes = Math.min(maxImageBytes, below + 2 * runtime.disk_mib * 2 ** 20)
  const beforePublish = (digest: ImageDigest) => holds.beforePublish(row.snapshot_id, digest)
  const watch = new StallWatch(stallTimeoutMs, stalled)
  const either = AbortSignal.any([signal, watch.signal])
  const guest = new GuestClient(await links.dial(runtime.runtime_id, either))
  const tree = await guest.trees.export({ onlyChanged: runtime.isolation === 'gvisor', live: true }, either)
  const { digest, sizeBytes } = await images.import(watch.watched(tree.body), either, { base, maxBytes, beforePublish })
  return { imageDigest: digest, sizeBytes }
}

const stalled = () => new HoltError('timeout', `The runtime sent no file data for ${stallTimeoutMs / 1000} seconds.`)

/** Throws if the host lacks space for the files beside its reserve. */
async function requireRoom({ engine, config }: Runtimes, { runtime_id }: RuntimeRow): Promise<void> {
  const { diskFreeMiB } = await engine.describe()
  const used = (await engine.ability('disks')?.usedBytes(runtime_id)) ?? 0
  requireDisk(diskFreeMiB - Math.ceil(used / 2 ** 20), config.reserve)
}
