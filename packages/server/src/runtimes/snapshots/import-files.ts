import type { ImageDigest } from '@holt/engine'
import type { GuestClient } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { requireDisk } from '../admission/admit.ts'
import type { Runtimes } from '../runtimes.ts'
import { StallWatch } from './stall-watch.ts'

/** The largest image, for any disk size. */
const maxImageBytes = 64 * 2 ** 30

/**
 * The time without data after which a guest has stalled, in milliseconds. The walk of a large tree
 * is quiet for seconds.
 */
const stallTimeoutMs = 60_000

/** The source of an image of files. */
export interface FilesToImport {
  readonly runtime: RuntimeRow
  readonly guest: GuestClient
  /** The holder of the image, until a row refers to it. */
  readonly holder: string
  /** True if the programs inside are stopped until the files are read. */
  readonly still: boolean
}

/** An image of the files of a runtime. */
export interface ImportedFiles {
  readonly imageDigest: string
  readonly sizeBytes: number
}

/**
 * Imports the guest's files as an image, which is durable then. The guest is untrusted: it may be
 * slow, or stop. Only the caller waits for it, with a time limit.
 */
export async function importFiles(
  { engine, holds }: Pick<Runtimes, 'engine' | 'holds'>,
  { runtime, guest, holder, still }: FilesToImport,
  signal: AbortSignal,
): Promise<ImportedFiles> {
  const images = engine.ability('images')
  if (images === null) throw new HoltError('not_supported_here', 'This host keeps no images.')
  const base = runtime.image_digest as ImageDigest
  // The image of its own files is not counted, or each pause would give it another disk.
  const source = runtime.origin_image_digest ?? base
  const below = (await images.list()).find(({ digest }) => digest === source)?.sizeBytes ?? 0
  // An honest runtime has at most its image and the content of its disk, with a margin for holes.
  const maxBytes = Math.min(maxImageBytes, below + 2 * runtime.disk_mib * 2 ** 20)
  const beforePublish = (digest: ImageDigest) => holds.beforePublish(holder, digest)
  const watch = new StallWatch(stallTimeoutMs, stalled)
  const either = AbortSignal.any([signal, watch.signal])
  const onlyChanged = runtime.isolation === 'gvisor'
  const tree = await guest.trees.export({ onlyChanged, live: true, still }, either)
  const { digest, sizeBytes } = await images.import(watch.watched(tree.body), either, { base, maxBytes, beforePublish })
  return { imageDigest: digest, sizeBytes }
}

const stalled = () => new HoltError('timeout', `The runtime sent no file data for ${stallTimeoutMs / 1000} seconds.`)

/** Throws if the host lacks space for the files beside its reserve. */
export async function requireRoomForFiles(
  { engine, config }: Pick<Runtimes, 'engine' | 'config'>,
  { runtime_id }: RuntimeRow,
): Promise<void> {
  const { diskFreeMiB } = await engine.describe()
  const used = (await engine.ability('disks')?.usedBytes(runtime_id)) ?? 0
  requireDisk(diskFreeMiB - Math.ceil(used / 2 ** 20), config.reserve)
}
