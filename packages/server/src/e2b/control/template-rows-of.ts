import type { Api } from '../../api/api.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'

/** Returns a project's own template with a name and a tag. */
export async function templateRowOf(
  { store }: Pick<Api, 'store'>,
  { projectId, name, tag }: { projectId: string; name: string; tag: string },
): Promise<TemplateRow | undefined> {
  return store.db
    .selectFrom('templates')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .where('tag', '=', tag)
    .executeTakeFirst()
}

/** Returns all templates of a project with a name, which differ by their tags. */
export async function tagsOf(
  { store }: Pick<Api, 'store'>,
  { projectId, name }: { projectId: string; name: string },
): Promise<readonly TemplateRow[]> {
  return store.db
    .selectFrom('templates')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .orderBy('created_at')
    .execute()
}
