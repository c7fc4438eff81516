import type { ListTemplatesQuery, Page, Template } from '@holt/protocol'
import type { z } from 'zod'
import { readableBy } from '../../foundation/rows/system-project.ts'
import { moment } from '../../foundation/store/moment.ts'
import { readPage } from '../../foundation/store/page-cursor.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import type { Resources } from '../resources.ts'
import type { TemplateProgress } from './template-progress.ts'

/** Returns a stored template as the API shows it. */
export function presentTemplate(row: TemplateRow, progress: TemplateProgress): Template {
  return {
    template_id: row.template_id as Template['template_id'],
    name: row.name,
    tag: row.tag,
    kind: row.kind,
    state: row.state,
    state_reason: row.state_reason_json === null ? null : JSON.parse(row.state_reason_json),
    progress: progress.get(row.template_id),
    source: row.source,
    image_digest: row.image_digest,
    cpu: row.cpu,
    memory_mib: row.memory_mib,
    disk_mib: row.disk_mib,
    size_bytes: row.size_bytes,
    env: JSON.parse(row.env_json),
    user: row.user,
    workdir: row.workdir,
    facts: JSON.parse(row.facts_json),
    start_cmd: row.start_cmd,
    ready_cmd: row.ready_cmd,
    on_restore: row.on_restore,
    starts: row.start_cmd === null ? null : row.checkpoint_id === null ? 'boot' : 'restored',
    ignored: JSON.parse(row.ignored_json),
    ports: JSON.parse(row.ports_json),
    labels: JSON.parse(row.labels_json),
    build_id: row.build_id as Template['build_id'],
    has_checkpoint: row.checkpoint_id !== null,
    created_at: moment(row.created_at),
    updated_at: moment(row.updated_at),
  }
}

/** Returns the templates that a project can read, its own and Holt's, newest first. */
export async function listTemplates(
  { store, templateProgress, log }: Resources,
  projectId: string,
  { name, kind, state, ...page }: z.output<typeof ListTemplatesQuery>,
): Promise<Page<Template>> {
  let query = store.db.selectFrom('templates').selectAll().where('project_id', 'in', readableBy(projectId))
  if (name !== undefined) query = query.where('name', '=', name)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (state !== undefined) query = query.where('state', '=', state)
  return readPage(query, page, { present: (row) => presentTemplate(row, templateProgress), log })
}
