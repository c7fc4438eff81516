import type { CheckpointInfo, ImageInfo } from '@holt/engine'
import { isEngineError } from '../foundation/errors/engine-errors.ts'
import type { Collection } from '../foundation/images/holds.ts'
import { notEnded } from '../foundation/rows/not-ended.ts'
import type { Queries } from '../foundation/store/open-store.ts'
import type { Builds } from './builds.ts'

/** The most that copies take of the room that they and the free space have together. */
const copiesShare = 0.7

/** The files of this host. */
interface FilesHere {
  readonly checkpoints: readonly CheckpointInfo[]
  readonly images: readonly ImageInfo[]
  readonly collection: Collection
}

/**
 * Removes copies of artifacts, the least recently used ones first. The rest takes at most 70 % of
 * its own room and the free space. Other data on the disk does not count. A copy is in the object
 * store, and no row of this host needs it. So the only copy of an artifact is never removed.
 */
export async function evictCopies(
  { engine, artifacts, store, thisHost, log }: Builds,
  { checkpoints, images, collection }: FilesHere,
): Promise<void> {
  const sizes = new Map<string, number>([
    ...images.map(({ digest, sizeBytes }) => [digest, sizeBytes] as const),
    ...checkpoints.map(({ checkpointId, sizeBytes }) => [checkpointId, sizeBytes] as const),
  ])
  const needed = await neededHere(store.db, thisHost.hostId)
  const copies = await artifacts.storedAmong([...sizes.keys()].filter((id) => !needed.has(id)))
  const copiesBytes = copies.reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0)
  const freeBytes = (await engine.describe()).diskFreeMiB * 2 ** 20
  let excess = copiesBytes - copiesShare * (copiesBytes + freeBytes)
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
