import { HoltError } from '@holt/protocol'
import { limitReached } from '../errors/limit-reached.ts'
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
  let query = db.selectFrom(table).select('name').where('project_id', '=', projectId).where('name', '=', name)
  if (table === 'secrets') query = query.where('deleted_at' as never, 'is', null)
  if ((await query.executeTakeFirst()) === undefined) return
  throw new HoltError('name_taken', `${what} named ${name} exists.`)
}
