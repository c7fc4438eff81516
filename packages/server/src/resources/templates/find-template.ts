import { HoltError } from '@holt/protocol'
import { comparedNames, nameNotFound } from '../../foundation/errors/not-found.ts'
import { foundFor } from '../../foundation/request/request-context.ts'
import { readableBy } from '../../foundation/rows/system-project.ts'
import { defaultTag, templateName } from '../../foundation/rows/template-name.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import type { Resources } from '../resources.ts'

const byName = /^([a-z0-9][a-z0-9-]{0,62})(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?$/

/**
 * Returns a template that a project can read, by name, `name:tag` or id. The project's own have
 * precedence over Holt's.
 */
export async function findTemplate(
  { store }: { readonly store: { readonly db: Queries } },
  { projectId, reference }: { projectId: string; reference: string },
): Promise<TemplateRow> {
  const [, name, tag = defaultTag] = byName.exec(reference) ?? []
  const templates = store.db.selectFrom('templates').selectAll().where('project_id', 'in', readableBy(projectId))
  const found =
    name === undefined
      ? []
      : await templates
          .where(({ eb, and, or }) =>
            or([and([eb('name', '=', name), eb('tag', '=', tag)]), eb('template_id', '=', reference)]),
          )
          .execute()
  // A name has precedence over an id, and the project's own templates over Holt's.
  const isNamed = (row: TemplateRow) => row.name === name && row.tag === tag
  const named = found.filter(isNamed)
  const row = named.find((one) => one.project_id === projectId) ?? named[0] ?? found[0]
  if (row === undefined) throw await notFound(store.db, projectId, reference)
  foundFor(reference, row.template_id)
  return row
}

async function notFound(db: Queries, projectId: string, reference: string): Promise<HoltError> {
  return nameNotFound('template_not_found', reference, async () => {
    const names: string[] = []
    // One query for each project, so that many own templates do not hide Holt's.
    for (const id of readableBy(projectId)) {
      const named = db.selectFrom('templates').select(['name', 'tag']).where('project_id', '=', id)
      const rows = await named.orderBy('created_at', 'desc').limit(comparedNames).execute()
      names.push(...rows.map(templateName))
    }
    return names
  })
}

/**
 * Returns the image of a ready template. Throws `unavailable` for a template in progress, so that
 * the client waits.
 */
export function requireReady({ templateProgress }: Pick<Resources, 'templateProgress'>, row: TemplateRow): string {
  if (row.state === 'ready' && row.image_digest !== null) return row.image_digest
  if (row.state === 'failed') throw failed(row)
  const progress = templateProgress.get(row.template_id)
  const far = progress === null ? 'waiting for its turn' : `${progress.phase}, ${percent(progress)} % done`
  throw new HoltError('unavailable', `The template ${templateName(row)} is being made: ${far}.`, {
    hint: 'Try again when GET /v1/agents/template says ready.',
    details: { retry_after_secs: 5, template_state: row.state, progress, ...buildOf(row) },
  })
}

/**
 * Returns the error for a failed template. The service retries base templates itself. Only the
 * author can correct others.
 */
function failed(row: TemplateRow): HoltError {
  const reason = row.state_reason_json === null ? null : (JSON.parse(row.state_reason_json) as { message: string })
  const message = `The template ${templateName(row)} could not be made: ${reason?.message ?? 'the reason is in the log of the service'}`
  const details = { template_state: row.state, ...buildOf(row) }
  if (row.kind === 'agent')
    return new HoltError('conflict', message, { hint: `Build it again: holt template pull ${row.name}`, details })
  if (row.kind !== 'system')
    return new HoltError('conflict', message, { hint: 'Correct the cause and build the template again.', details })
  return new HoltError('unavailable', message, {
    hint: 'Correct the cause. The service retries by itself, and at once after a restart.',
    details: { retry_after_secs: 60, ...details },
  })
}

function buildOf({ build_id }: TemplateRow): { readonly build_id?: string } {
  return build_id === null ? {} : { build_id }
}

function percent({ done, total }: { done: number; total: number }): number {
  return total > 0 ? Math.min(100, Math.round((done / total) * 100)) : 0
}
