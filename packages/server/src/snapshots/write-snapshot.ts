import { GuestClient, type ImageDigest } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import { isEngineError } from '../engine-errors.ts'
import { writeDown } from '../lifecycle/write-down.ts'
import { requireDisk } from '../runtimes/admit.ts'
import { findRunning } from '../runtimes/find-runtime.ts'
import type { Service } from '../service.ts'
import type { RuntimeRow, SnapshotRow } from '../store/tables.ts'
import { StallWatch } from './stall-watch.ts'

/** No image is larger, whatever disk a runtime has. */
const maxImageBytes = 64 * 2 ** 30

/**
 * How often files are read anew that could not be read to their end, because the runtime was
 * written down meanwhile.
 */
const maxReadings = 3

/**
 * A guest that sends nothing of its files for so long sends no more. A quiet one walks a large
 * tree, which is seconds.
 */
const stallTimeoutMs = 60_000

/** What was written, durably. */
export interface Written {
  readonly imageDigest: string
  readonly sizeBytes: number
}

/** Writes what a snapshot's kind says of its runtime, which goes on. */
export async function writeSnapshot(
  service: Service,
  { row, runtime }: { row: SnapshotRow; runtime: RuntimeRow },
  signal: AbortSignal,
): Promise<Written> {
  if (row.checkpoint_id === null) return writeFiles(service, { row, runtime }, signal)
  const what = { checkpointId: row.checkpoint_id, goOn: true }
  const { sizeBytes } = await writeDown(service, runtime.runtime_id, what, signal)
  return { imageDigest: runtime.image_digest, sizeBytes }
}

/**
 * Reads the files of a runtime, while it runs, into an image of their own. The image is held for
 * the snapshot.
 */
async function writeFiles(
  service: Service,
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
 * What the guest sends is a stranger's work: it may be slow, or stop. Nobody waits for it but this
 * snapshot, and that not for ever.
 */
async function importFiles(
  { engine, links, builds }: Service,
  { row, runtime }: { row: SnapshotRow; runtime: RuntimeRow },
  signal: AbortSignal,
): Promise<Written> {
  const images = engine.ability('images')
  if (images === null) throw new HoltError('not_supported_here', 'This host keeps no images.')
  const base = runtime.image_digest as ImageDigest
  const below = (await images.list()).find(({ digest }) => digest === base)?.sizeBytes ?? 0
  // No honest runtime has more than its image and what fits on its disk, with some room for holes.
  const maxBytes = Math.min(maxImageBytes, below + 2 * runtime.disk_mib * 2 ** 20)
  const beforePublish = (digest: ImageDigest) => builds.holds.beforePublish(row.snapshot_id, digest)
  const watch = new StallWatch(stallTimeoutMs, stalled)
  const either = AbortSignal.any([signal, watch.signal])
  const guest = new GuestClient(await links.dial(runtime.runtime_id, either))
  const tree = await guest.exportTree({ onlyChanged: runtime.isolation === 'gvisor', live: true }, either)
  const { digest, sizeBytes } = await images.import(watch.watched(tree.body), either, { base, maxBytes, beforePublish })
  return { imageDigest: digest, sizeBytes }
}

const stalled = () =>
  new HoltError('timeout', `The runtime sent nothing of its files for ${stallTimeoutMs / 1000} seconds.`)

/** Refuses files that the host has no room for beside its reserve. */
async function requireRoom({ engine, config }: Service, { runtime_id }: RuntimeRow): Promise<void> {
  const { diskFreeMiB } = await engine.describe()
  const used = (await engine.ability('disks')?.usedBytes(runtime_id)) ?? 0
  requireDisk(diskFreeMiB - Math.ceil(used / 2 ** 20), config.reserve)
}
