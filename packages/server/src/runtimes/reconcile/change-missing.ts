import { filesMissingPattern } from '../../foundation/rows/files-missing.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import { updateTemplate } from '../../resources/templates/template-rows.ts'
import type { Runtimes } from '../runtimes.ts'
import { markWhole } from '../snapshots/snapshot-rows.ts'
import type { Reason } from '../state/change-state.ts'

/** The files that a snapshot or a template consists of. */
type Files = Pick<TemplateRow, 'image_digest' | 'checkpoint_id'>

/**
 * Marks a template whose file is missing. An agent template is built again on demand. For others,
 * only their author can do that.
 */
export async function loseTemplate(service: Runtimes, row: TemplateRow, reason: Reason): Promise<void> {
  const change =
    service.agents.of(row) === null
      ? ({ state: 'failed', state_reason_json: JSON.stringify(reason) } as const)
      : ({ state: 'unbuilt', image_digest: null, checkpoint_id: null } as const)
  await updateTemplate(service, row, change)
}

/**
 * Marks snapshots and templates as ready that have failed because a file was missing, and that
 * `isWhole` says have all of them. A template is whole without its checkpoint.
 */
export async function markWholeAgain(service: Runtimes, isWhole: (files: Files) => boolean): Promise<void> {
  const { db } = service.store
  const snapshots = await db
    .selectFrom('snapshots')
    .selectAll()
    .where('state', '=', 'failed')
    .where('state_reason_json', 'like', filesMissingPattern)
    .execute()
  for (const row of snapshots) if (isWhole(row)) await markWhole(service, row)
  const templates = await db
    .selectFrom('templates')
    .selectAll()
    .where('state', '=', 'failed')
    .where('state_reason_json', 'like', filesMissingPattern)
    .execute()
  for (const row of templates)
    if (isWhole({ ...row, checkpoint_id: null }))
      await updateTemplate(service, row, { state: 'ready', state_reason_json: null })
}
