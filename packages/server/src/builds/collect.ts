import type { CheckpointInfo, ImageInfo } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { isEngineError } from '../foundation/errors/engine-errors.ts'
import type { Collection } from '../foundation/images/holds.ts'
import { checkpointOf } from '../foundation/rows/checkpoint-id.ts'
import { lacksFiles } from '../foundation/rows/files-missing.ts'
import { notEnded } from '../foundation/rows/not-ended.ts'
import type { Queries } from '../foundation/store/open-store.ts'
import type { Builds } from './builds.ts'
import { evictCache } from './evict-cache.ts'
import { evictCopies } from './evict-copies.ts'

/**
 * Removes the images, checkpoints and files that nothing refers to. Evicts cache entries first.
 */
export async function collect(service: Builds): Promise<void> {
  if (service.closing.aborted) return
  await evictCache(service)
  using collection = service.holds.beginCollection()
  // The files are listed before the references: a checkpoint has a reference before it exists.
  const checkpoints = (await service.engine.ability('checkpoints')?.list()) ?? []
  const images = (await service.engine.ability('images')?.list()) ?? []
  await failpoint('collect.listed')
  const ids = [...checkpoints.map(({ checkpointId }) => checkpointId), ...images.map(({ digest }) => digest)]
  const used = await usedAmong(service, ids)
  await failpoint('collect.referenced')
  await removeCheckpoints(service, checkpoints, { used, collection })
  await removeImages(service, images, { used, collection })
  if (service.artifacts.isShared) await evictCopies(service, { checkpoints, images, collection })
  await failpoint('collect.removed')
}

/**
 * Returns the ids that rows refer to. A change under way may have read a reference whose row is
 * gone by now, such as that of another project's template. It writes a reference of its own, or
 * holds the thing, before it ends. So the rows are read again after the changes under way.
 */
async function usedAmong(
  { store, artifacts: { isShared } }: Builds,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const read = (db: Queries) => referenced(db, { isShared })
  const used = await store.atOneMoment(read)
  if (store.type === 'sqlite' || ids.every((id) => used.has(id))) return used
  await store.changesEnded()
  return new Set([...used, ...(await store.atOneMoment(read))])
}

/**
 * Returns every image and checkpoint that a row of any project refers to, because the engine knows
 * no projects. `isShared` says if the rows of a fleet are there too.
 */
export async function referenced(
  db: Queries,
  { isShared }: { readonly isShared: boolean },
): Promise<ReadonlySet<string>> {
  const templates = await db.selectFrom('templates').select(['image_digest', 'checkpoint_id', 'seed_id']).execute()
  const runtimes = await db
    .selectFrom('known_runtimes')
    .select(['image_digest', 'origin_image_digest', 'checkpoint_id', 'pause_checkpoint_id', 'state'])
    .where(notEnded)
    .execute()
  const snapshots = await db
    .selectFrom('snapshots')
    .select(['image_digest', 'checkpoint_id', 'state', 'state_reason_json'])
    .execute()
  const members = await db.selectFrom('pool_members').select(['image_digest', 'checkpoint_id', 'state']).execute()
  const cached = await db.selectFrom('build_cache').select(['image_digest', 'checkpoint_id']).execute()
  const pulled = await db.selectFrom('pulled_images').select('image_digest').execute()
  const made = await db.selectFrom('build_resources').select('resource_id').execute()
  const ids = [
    ...(isShared ? await sharedIds(db) : []),
    ...[...templates, ...cached, ...snapshots.filter((row) => row.state !== 'failed' || lacksFiles(row))].flatMap(
      (row) => [row.image_digest, row.checkpoint_id],
    ),
    // A runtime that was restored does not need its checkpoint any more.
    ...runtimes.flatMap((row) => [
      row.image_digest,
      row.origin_image_digest,
      row.pause_checkpoint_id,
      row.state === 'starting' ? row.checkpoint_id : null,
    ]),
    ...members.flatMap((row) => [row.image_digest, row.state === 'making' ? row.checkpoint_id : null]),
    ...templates.map(({ seed_id }) => (seed_id === null ? null : checkpointOf(seed_id))),
    ...pulled.map((row) => row.image_digest),
    ...made.map((row) => row.resource_id),
  ]
  return new Set(ids.filter((id) => id !== null))
}

/** Returns the artifacts that only rows of a fleet refer to. */
async function sharedIds(db: Queries): Promise<readonly string[]> {
  const checkpoints = await db
    .selectFrom('template_checkpoints')
    .innerJoin('templates', 'templates.template_id', 'template_checkpoints.template_id')
    .select('template_checkpoints.checkpoint_id')
    .execute()
  const held = await db.selectFrom('artifact_holds').select('artifact_id').execute()
  return [...checkpoints.map(({ checkpoint_id }) => checkpoint_id), ...held.map(({ artifact_id }) => artifact_id)]
}

interface Unneeded {
  readonly used: ReadonlySet<string>
  readonly collection: Collection
}

async function removeCheckpoints(
  { engine, log }: Builds,
  checkpoints: readonly CheckpointInfo[],
  { used, collection }: Unneeded,
): Promise<void> {
  for (const { checkpointId } of checkpoints) {
    if (used.has(checkpointId)) continue
    await collection
      .remove(checkpointId, async () => engine.ability('checkpoints')?.remove(checkpointId))
      .catch((error: unknown) => {
        // The others are removed nevertheless.
        log.warn({ err: error, checkpoint_id: checkpointId }, 'an unreferenced checkpoint could not be removed')
      })
  }
}

async function removeImages(
  { engine }: Builds,
  images: readonly ImageInfo[],
  { used, collection }: Unneeded,
): Promise<void> {
  for (const { digest } of images) {
    if (used.has(digest)) continue
    await collection
      .remove(digest, async () => engine.ability('images')?.remove(digest))
      .catch((error: unknown) => {
        // A runtime that the database does not know is made of it.
        if (!isEngineError(error) || error.kind !== 'in_use') throw error
      })
  }
}
