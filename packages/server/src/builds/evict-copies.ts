import type { CheckpointInfo, EngineFacts, ImageInfo } from '@holt/engine'
import { isEngineError } from '../foundation/errors/engine-errors.ts'
import type { Collection } from '../foundation/images/holds.ts'
import { notEnded } from '../foundation/rows/not-ended.ts'
import type { Queries } from '../foundation/store/open-store.ts'
import type { Builds } from './builds.ts'

/** The share of the disk from which copies are removed. */
const fullShare = 0.7

/** The files of this host. */
interface FilesHere {
  readonly checkpoints: readonly CheckpointInfo[]
  readonly images: readonly ImageInfo[]
  readonly collection: Collection
}

/**
 * Removes copies of artifacts from a disk that is 70 % full, the least recently used ones first.
 * Only those go that are in the object store, and that no row of this host needs. So the only copy
 * of an artifact is never removed.
 */
export async function evictCopies(
  { engine, artifacts, store, thisHost, log }: Builds,
  { checkpoints, images, collection }: FilesHere,
): Promise<void> {
  let excess = excessBytes(await engine.describe())
  if (excess <= 0) return
  const sizes = new Map<string, number>([
    ...images.map(({ digest, sizeBytes }) => [digest, sizeBytes] as const),
    ...checkpoints.map(({ checkpointId, sizeBytes }) => [checkpointId, sizeBytes] as const),
  ])
  const needed = await neededHere(store.db, thisHost.hostId)
  const copies = await artifacts.storedAmong([...sizes.keys()].filter((id) => !needed.has(id)))
  for (const id of copies) {
    if (excess <= 0) return
    await collection
      .remove(id, async () => {
        const image = images.find(({ digest }) => digest === id)
        if (image === undefined) await engine.ability('checkpoints')?.remove(id)
        else await engine.ability('images')?.remove(image.digest)
        excess -= sizes.get(id) ?? 0
      })
      .catch((err: unknown) => {
        // A runtime is made of it. The others are removed nevertheless.
        if (!isEngineError(err) || err.kind !== 'in_use') log.warn({ err, id }, 'a copy could not be removed')
      })
  }
}

function excessBytes({ diskMiB, diskFreeMiB }: EngineFacts): number {
  return (diskMiB - diskFreeMiB - diskMiB * fullShare) * 2 ** 20
}

/** Returns the images and checkpoints that rows of a host need on its disk. */
async function neededHere(db: Queries, hostId: string): Promise<ReadonlySet<string>> {
  const runtimes = await db
    .selectFrom('runtimes')
    .select(['image_digest', 'origin_image_digest', 'checkpoint_id', 'pause_checkpoint_id'])
    .where('host_id', '=', hostId)
    .where(notEnded)
    .execute()
  const members = await db
    .selectFrom('pool_members')
    .select(['image_digest', 'checkpoint_id'])
    .where('host_id', '=', hostId)
    .execute()
  const cached = await db
    .selectFrom('build_cache')
    .select(['image_digest', 'checkpoint_id'])
    .where('host_id', '=', hostId)
    .execute()
  const pulled = await db.selectFrom('pulled_images').select('image_digest').where('host_id', '=', hostId).execute()
  const ids = [...runtimes, ...members, ...cached, ...pulled].flatMap((row) => Object.values(row))
  return new Set(ids.filter((id) => id !== null))
}
