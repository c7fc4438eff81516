import type { CheckpointInfo, Checkpoints } from '@holt/engine'
import { aloneWith } from '../foundation/store/alone.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import type { Builds } from './builds.ts'
import { checkpointsHere } from './checkpoints-here.ts'
import { type KeepCheckpoint, retake } from './retake-one.ts'

/**
 * Takes the checkpoints of built templates again that this host cannot restore, for example after
 * an upgrade of gVisor. Takes one at a time, the smallest first. Until then, and after a failure,
 * runtimes of the template boot cold. Never rejects.
 */
export async function retakeCheckpoints(service: Builds): Promise<void> {
  const { log, closing, retakes } = service
  try {
    const checkpoints = await checkpointsHere(service)
    if (checkpoints === null || closing.aborted) return
    const rows = await findUnusable(service, checkpoints)
    if (rows.length === 0) return
    retakes.expect(rows.length)
    log.info({ templates: rows.length }, 'checkpoints of templates are taken again, one after another')
    const keep: KeepCheckpoint = (row, checkpoint) => replaceCheckpoint(service, row, checkpoint)
    for (const row of rows) {
      const result = await retake(service, row, keep)
      if (closing.aborted) return
      retakes.note(result)
    }
    log.info(retakes.counts, 'the checkpoints of templates were taken again')
    service.collector.request()
  } catch (error) {
    // Runtimes boot cold, and the next start tries again.
    if (!closing.aborted) log.error({ err: error }, 'the checkpoints of templates could not be taken again')
  } finally {
    if (retakes.counts.waiting > 0) retakes.leave()
  }
}

/** Returns the ready templates whose checkpoint does not fit this host. */
async function findUnusable({ store }: Builds, checkpoints: Checkpoints): Promise<readonly TemplateRow[]> {
  const rows = await store.db
    .selectFrom('templates')
    .selectAll()
    .where('state', '=', 'ready')
    .where('image_digest', 'is not', null)
    .where('checkpoint_id', 'is not', null)
    .where('start_cmd', 'is not', null)
    .orderBy('memory_mib')
    .orderBy('seq')
    .execute()
  const unusable: TemplateRow[] = []
  for (const row of rows) {
    const { usable } = await checkpoints.usable(row.checkpoint_id ?? '', { skipFiles: true })
    if (!usable) unusable.push(row)
  }
  return unusable
}

/**
 * Points a template to its new checkpoint. Returns false, and changes nothing, if the template was
 * deleted or built meanwhile. Cached results with the old checkpoint fit no build any more.
 */
async function replaceCheckpoint(
  service: Builds,
  row: TemplateRow,
  { checkpointId, sizeBytes }: CheckpointInfo,
): Promise<boolean> {
  const images = (await service.engine.ability('images')?.list()) ?? []
  const image = images.find(({ digest }) => digest === row.image_digest)
  return service.store.change(aloneWith(row.project_id), async (changes) => {
    const changed = await changes
      .updateTable('templates')
      .set((eb) => ({
        checkpoint_id: checkpointId,
        size_bytes: image === undefined ? row.size_bytes : image.sizeBytes + sizeBytes,
        updated_at: service.now(),
        revision: eb('revision', '+', 1),
      }))
      .where('project_id', '=', row.project_id)
      .where('template_id', '=', row.template_id)
      .where('checkpoint_id', '=', row.checkpoint_id)
      .returning('template_id')
      .executeTakeFirst()
    if (changed === undefined) return false
    await changes.deleteFrom('build_resources').where('resource_id', '=', checkpointId).execute()
    await changes
      .deleteFrom('build_cache')
      .where('project_id', '=', row.project_id)
      .where('checkpoint_id', '=', row.checkpoint_id)
      .execute()
    return true
  })
}
