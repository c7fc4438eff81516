import { HoltError } from '@holt/protocol'
import { limitReached } from '../errors/limit-reached.ts'
import { comparedNames } from '../errors/not-found.ts'
import type { Queries } from '../store/open-store.ts'

type NamedTable = 'policies' | 'providers' | 'secrets' | 'snapshots'

/**
 * The largest number of things of one kind in a project. It is enough for people, and small enough
 * that no loop over them is long. Each webhook has a connection of its own.
 */
const mostOf = { policies: 1000, providers: 1000, secrets: 1000, snapshots: 1000, webhooks: 50 } as const

/** Throws if the project has as many rows as it may have. */
export async function requireRoom(db: Queries, table: keyof typeof mostOf, projectId: string): Promise<void> {
  const { count } = await db
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  if (Number(count) < mostOf[table]) return
  throw limitReached('quota_exceeded', `A project has at most ${mostOf[table]} ${table}.`, {
    limit: mostOf[table],
    hint: 'Delete unused ones.',
  })
}

/** Throws if another row of the project has the name. */
export async function requireFreeName(
  db: Queries,
  table: NamedTable,
  { projectId, name, what }: { projectId: string; name: string; what: string },
): Promise<void> {
  if ((await namesIn(db, table, projectId).where('name', '=', name).executeTakeFirst()) === undefined) return
  throw new HoltError('name_taken', `${what} named ${name} exists.`)
}

/** Returns the newest names of a project, to compare with one that does not exist. */
export async function newestNames(
  db: Queries,
  table: 'policies' | 'providers' | 'secrets',
  projectId: string,
): Promise<readonly string[]> {
  const rows = await namesIn(db, table, projectId).orderBy('created_at', 'desc').limit(comparedNames).execute()
  return rows.flatMap(({ name }) => name ?? [])
}

/** Selects the names of a project. A deleted secret has none. */
function namesIn(db: Queries, table: NamedTable, projectId: string) {
  const names = db.selectFrom(table).select('name').where('project_id', '=', projectId)
  return table === 'secrets' ? names.where('deleted_at' as never, 'is', null) : names
}
