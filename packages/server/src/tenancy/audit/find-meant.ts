import { type IdKind, idSchema } from '@holt/protocol'
import { type RawBuilder, sql } from 'kysely'
import { readableBy } from '../../foundation/rows/system-project.ts'
import { templateName } from '../../foundation/rows/template-name.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { yieldEventLoop } from '../../foundation/store/read-one-by-one.ts'

/** The search terms of a subject filter. */
export interface Meant {
  /** Ids, or other texts from paths. */
  readonly subjects: readonly string[]
  /**
   * The names by which paths refer to the requested id. Entries of calls that were refused before
   * the lookup have these names.
   */
  readonly named: { readonly param: string; readonly names: readonly string[] } | null
}

/**
 * The scope of a lookup: the things of a project or of `all`. For an operator, also the projects
 * themselves.
 */
interface Known {
  readonly project: string
  readonly isOperator: boolean
}

/**
 * The tables of named things: the table, the id column, which is also the path parameter, and the
 * kind.
 */
const tables = [
  ['runtimes', 'runtime_id', 'runtime'],
  ['snapshots', 'snapshot_id', 'snapshot'],
  ['templates', 'template_id', 'template'],
  ['policies', 'policy_id', 'policy'],
  ['secrets', 'secret_id', 'secret'],
  ['providers', 'provider_id', 'provider'],
  ['keys', 'key_id', 'key'],
  ['projects', 'project_id', 'project'],
] as const satisfies readonly (readonly [string, string, IdKind])[]

type Table = (typeof tables)[number][0]

/** The maximum number of things of a kind with the same name. The newest ones are taken. */
const maxNamesakes = 20

/**
 * Returns the meaning of an id or a name. It includes the text itself, the ids of known things that
 * have or had the name, and the names of the thing with the id.
 */
export async function findMeant(db: Queries, known: Known, subject: string): Promise<Meant> {
  const subjects = [subject]
  for (const [table, id] of tables) {
    const { rows } = await sql<{ id: string }>`SELECT ${sql.ref(id)} AS id FROM ${sql.table(table)}
      WHERE ${isNamed(table, subject)} AND ${isKnown(table, known)}
      ORDER BY created_at DESC LIMIT ${sql.lit(maxNamesakes)}`.execute(db)
    subjects.push(...rows.map((row) => row.id))
    await yieldEventLoop()
  }
  return { subjects, named: await namesOf(db, known, subject) }
}

/** Returns the condition for a name. A template matches with or without its tag. */
function isNamed(table: Table, name: string): RawBuilder<unknown> {
  return table === 'templates' ? sql`(name = ${name} OR name || ':' || tag = ${name})` : sql`name = ${name}`
}

/**
 * Returns the condition for known things. Holt's templates belong to everybody, and an operator
 * knows all projects.
 */
function isKnown(table: Table, { project, isOperator }: Known): RawBuilder<unknown> {
  if (project === 'all' || (table === 'projects' && isOperator)) return sql`1 = 1`
  const projects = table === 'templates' ? readableBy(project) : [project]
  return sql`project_id IN (${sql.join(projects)})`
}

async function namesOf(db: Queries, known: Known, subject: string): Promise<Meant['named']> {
  const found = tables.find(([, , kind]) => idSchema(kind).safeParse(subject).success)
  if (found === undefined) return null
  const [table, param] = found
  const tag = table === 'templates' ? sql`tag` : sql`NULL`
  const { rows } = await sql<{ name: string | null; tag: string | null }>`SELECT name, ${tag} AS tag
    FROM ${sql.table(table)} WHERE ${sql.ref(param)} = ${subject} AND ${isKnown(table, known)}`.execute(db)
  const names = rows.flatMap(({ name, tag }) =>
    name === null ? [] : tag === null ? [name] : [templateName({ name, tag }), `${name}:${tag}`],
  )
  return names.length === 0 ? null : { param, names }
}
