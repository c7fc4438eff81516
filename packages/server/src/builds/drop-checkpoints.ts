import { aloneWith } from '../foundation/store/alone.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import type { Builds } from './builds.ts'

/**
 * Removes the checkpoints of templates without a `start_cmd`, which earlier versions of Holt took.
 * A boot takes less CPU time and memory than their restore
 * (docs/decisions/017-restored-with-an-application.md). Runtimes that were restored from them
 * continue, and a runtime that is starting keeps its checkpoint until it runs. Runs before the
 * service serves requests.
 */
export async function dropCheckpoints(service: Builds): Promise<void> {
  const { store, engine, log, collector } = service
  const rows = await store.db
    .selectFrom('templates')
    .selectAll()
    .where('start_cmd', 'is', null)
    .where('checkpoint_id', 'is not', null)
    .execute()
  if (rows.length === 0) return
  const images = (await engine.ability('images')?.list()) ?? []
  for (const row of rows) {
    const image = images.find(({ digest }) => digest === row.image_digest)
    await dropCheckpoint(service, row, image?.sizeBytes ?? row.size_bytes)
  }
  log.info({ templates: rows.length }, 'the checkpoints of templates without a start_cmd are removed')
  collector.request()
}

/** Leaves the template its image. Cached results with the checkpoint fit no build any more. */
async function dropCheckpoint({ store, now }: Builds, row: TemplateRow, imageBytes: number | null): Promise<void> {
  await store.change(aloneWith(row.project_id), async (changes) => {
    await changes
      .updateTable('templates')
      .set({ checkpoint_id: null, size_bytes: imageBytes, updated_at: now(), revision: row.revision + 1 })
      .where('project_id', '=', row.project_id)
      .where('template_id', '=', row.template_id)
      .execute()
    await changes
      .deleteFrom('build_cache')
      .where('project_id', '=', row.project_id)
      .where('checkpoint_id', '=', row.checkpoint_id)
      .execute()
  })
}
