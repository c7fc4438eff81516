import type { Queries } from '../../foundation/store/open-store.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'

/** The store, or a transaction in its place. */
interface Rows {
  readonly store: { readonly db: Queries }
}

/** Returns a project's own template with a name and a tag. */
export async function templateRowOf(
  { store }: Rows,
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
  { store }: Rows,
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
