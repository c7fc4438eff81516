import { HoltError } from '@holt/protocol'
import { forgetClassCheckpoints } from '../../artifacts/class-checkpoints.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import { requireWriter } from '../../tenancy/projects/require-writer.ts'
import type { Resources } from '../resources.ts'
import { findTemplate } from './find-template.ts'

/** A template to delete, and the caller who asks for it. */
interface TemplateDeletion {
  readonly reference: string
  readonly caller: Caller
  /** Cancels the builds of a template. Resolves when they have ended. */
  readonly stopBuilds: (templateId: string) => Promise<void>
}

/**
 * Deletes a template. Its builds are cancelled first. Its runtimes, and builds on top of it,
 * continue: their images stay while they are in use. An agent template becomes unbuilt again. All
 * projects share it, so only operators may do that.
 */
export async function deleteTemplate(
  service: Resources,
  { reference, caller, stopBuilds }: TemplateDeletion,
): Promise<void> {
  const row = await findTemplate(service, { projectId: caller.projectId, reference })
  const { project_id: projectId } = row
  if (row.kind === 'system')
    throw new HoltError('conflict', `${row.name} is a system template and cannot be deleted.`, {
      hint: 'Only templates that were built can be deleted.',
      details: { kind: row.kind },
    })
  requireWriter(caller, projectId)
  const { collector, store } = service
  await stopBuilds(row.template_id)
  await store.change(aloneWith(projectId), async (changes) => {
    const one = await changes
      .selectFrom('templates')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('template_id', '=', row.template_id)
      .executeTakeFirst()
    if (one === undefined) return // It was deleted with its first build.
    await forgetClassCheckpoints(service.artifacts, changes, one.template_id)
    if (one.kind === 'agent') {
      await changes
        .updateTable('templates')
        .set(unbuilt(one, service.now()))
        .where('project_id', '=', projectId)
        .where('template_id', '=', one.template_id)
        .execute()
    } else {
      await changes
        .deleteFrom('templates')
        .where('project_id', '=', projectId)
        .where('template_id', '=', one.template_id)
        .execute()
    }
    const to = one.kind === 'agent' ? 'unbuilt' : 'deleted'
    const data = { from: one.state, to, by: caller.keyId }
    const type = `template.${to}` as const
    await recordEvent(changes, { projectId, type, subjectId: one.template_id, data, at: service.now() })
  })
  collector.request()
}

function unbuilt(row: TemplateRow, at: number) {
  return {
    state: 'unbuilt',
    state_reason_json: null,
    image_digest: null,
    checkpoint_id: null,
    size_bytes: null,
    build_id: null,
    recipe_digest: null,
    build_settings_json: null,
    checkpoint_recipe_json: null,
    updated_at: at,
    revision: row.revision + 1,
  } as const
}
