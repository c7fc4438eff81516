import { makeId, systemTemplateSizes } from '@holt/protocol'
import type { Updateable } from 'kysely'
import { defaultTag } from '../../foundation/rows/template-name.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { TemplateRow, TemplatesTable } from '../../foundation/store/tables.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import type { Resources } from '../resources.ts'

/**
 * Makes a row for each system template that has none, and returns all of them, the smallest first.
 */
export async function ensureSystemTemplates(
  { store, now }: Resources,
  { projectId, source }: { projectId: string; source: string },
): Promise<readonly TemplateRow[]> {
  const at = now()
  for (const { name, cpu, memoryMiB, diskMiB } of systemTemplateSizes) {
    await store.db
      .insertInto('templates')
      .values({
        template_id: makeId('template'),
        project_id: projectId,
        name,
        tag: defaultTag,
        kind: 'system',
        state: 'building',
        state_reason_json: null,
        source,
        recipe_digest: null,
        image_digest: null,
        checkpoint_id: null,
        seed_id: null,
        cpu,
        memory_mib: memoryMiB,
        disk_mib: diskMiB,
        size_bytes: null,
        env_json: '{}',
        user: 'root',
        workdir: '/',
        facts_json: '{}',
        created_at: at,
        updated_at: at,
        revision: 1,
      })
      .onConflict((conflict) => conflict.columns(['project_id', 'name', 'tag']).doNothing())
      .execute()
  }
  return readSystemTemplates({ store }, projectId)
}

/** Returns the system templates of a project, the smallest first. */
export async function readSystemTemplates(
  { store }: Pick<Resources, 'store'>,
  projectId: string,
): Promise<readonly TemplateRow[]> {
  return store.db
    .selectFrom('templates')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('kind', '=', 'system')
    .orderBy('memory_mib')
    .execute()
}

/**
 * Changes a template's row. Throws if it was changed since it was read. A change of state is also
 * an event.
 */
export async function updateTemplate(
  service: Resources,
  row: TemplateRow,
  change: Updateable<TemplatesTable>,
): Promise<TemplateRow> {
  const at = service.now()
  return service.store.change(aloneWith(row.project_id), async (changes) => {
    const changed = await changes
      .updateTable('templates')
      .set({ ...change, updated_at: at, revision: row.revision + 1 })
      .where('project_id', '=', row.project_id)
      .where('template_id', '=', row.template_id)
      .where('revision', '=', row.revision)
      .returningAll()
      .executeTakeFirst()
    if (changed === undefined) throw new Error(`the template ${row.name} was changed by another request`)
    if (change.state !== undefined && change.state !== row.state) {
      await recordEvent(changes, {
        projectId: row.project_id,
        type: `template.${change.state}`,
        subjectId: row.template_id,
        data: { from: row.state, to: change.state },
        at,
      })
    }
    return changed
  })
}
