import { checkpointOf } from '../../foundation/rows/checkpoint-id.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import type { Resources } from '../resources.ts'
import { updateTemplate } from './template-rows.ts'

/** The time to remove a runtime, in milliseconds. */
const removeTimeoutMs = 120_000

/**
 * Removes the seed of a base template and its partial checkpoint. Earlier versions of Holt took a
 * checkpoint of each base template, and may have been killed meanwhile.
 */
export async function removeSeed(service: Resources, template: TemplateRow): Promise<TemplateRow> {
  if (template.seed_id === null) return template
  await service.engine.remove(template.seed_id, AbortSignal.timeout(removeTimeoutMs))
  await service.engine.ability('checkpoints')?.remove(checkpointOf(template.seed_id))
  return updateTemplate(service, template, { seed_id: null })
}
