import { storedArtifacts } from '../../artifacts/stored-rows.ts'
import { artifactLost, filesMissingPattern } from '../../foundation/rows/files-missing.ts'
import type { Runtimes } from '../runtimes.ts'
import { markLacking } from '../snapshots/snapshot-rows.ts'
import { loseTemplate, markWholeAgain } from './change-missing.ts'

/**
 * Marks the snapshots and templates of a fleet that refer to lost artifacts. Marks them as ready
 * when their artifacts are stored again. A template keeps its state
 * without its checkpoint: its runtimes boot. A paused runtime keeps its state too, and its resume
 * returns the error.
 */
export async function markLost(service: Runtimes, lost: ReadonlySet<string>): Promise<void> {
  await markStoredAgain(service)
  if (lost.size === 0) return
  const { db } = service.store
  const first = (ids: readonly (string | null)[]) => ids.find((id) => id !== null && lost.has(id)) ?? null
  const snapshots = await db.selectFrom('snapshots').selectAll().where('state', '=', 'ready').execute()
  for (const row of snapshots) {
    const id = first([row.image_digest, row.checkpoint_id])
    if (id !== null) await markLacking(service, row, artifactLost(id))
  }
  // Base templates are made again.
  const templates = await db
    .selectFrom('templates')
    .selectAll()
    .where('state', '=', 'ready')
    .where('kind', '!=', 'system')
    .execute()
  for (const row of templates) {
    const id = first([row.image_digest])
    if (id !== null) await loseTemplate(service, row, artifactLost(id))
  }
  const checkpoints = await db.selectFrom('template_checkpoints').select('checkpoint_id').execute()
  for (const { checkpoint_id } of checkpoints)
    if (lost.has(checkpoint_id))
      await db.deleteFrom('template_checkpoints').where('checkpoint_id', '=', checkpoint_id).execute()
}

async function markStoredAgain(service: Runtimes): Promise<void> {
  const { db } = service.store
  const failed = (table: 'snapshots' | 'templates') =>
    db
      .selectFrom(table)
      .select(['image_digest', 'checkpoint_id'])
      .where('state', '=', 'failed')
      .where('state_reason_json', 'like', filesMissingPattern)
      .execute()
  const rows = [...(await failed('snapshots')), ...(await failed('templates'))]
  const ids = rows.flatMap(({ image_digest, checkpoint_id }) => [image_digest, checkpoint_id])
  const stored = await storedArtifacts(
    db,
    ids.filter((id) => id !== null),
  )
  await markWholeAgain(service, ({ image_digest, checkpoint_id }) =>
    [image_digest, checkpoint_id].every((id) => id === null || stored.has(id)),
  )
}
