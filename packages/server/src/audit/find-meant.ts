import { type IdKind, idSchema } from '@holt/protocol'
import { type RawBuilder, sql } from 'kysely'
import { readableBy } from '../projects/system-project.ts'
import type { Queries } from '../store/open-store.ts'
import { giveTurn } from '../store/read-in-turn.ts'
import { templateName } from '../templates/find-template.ts'

/** What entries are looked for by. */
export interface Meant {
  /** Ids, or what else stands in paths. */
  readonly subjects: readonly string[]
  /**
   * How paths name the thing whose id was asked for: so it stands in the entries of calls that were
   * refused before it was looked for.
   */
  readonly named: { readonly param: string; readonly names: readonly string[] } | null
}

/**
 * Whose things count: those of a project or of `all`, and for an operator the projects themselves.
 */
interface Known {
  readonly project: string
  readonly isOperator: boolean
}

/**
 * The tables of what has a name, the column of its id, which is what paths call it, and its kind.
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

/** The most things of a kind that a name is taken for: the newest. */
const maxNamesakes = 20

/**
 * What is meant by an id or a name: itself, the ids of what has or had that name and is still
 * known, and the name of what has that id.
 */
export async function findMeant(db: Queries, known: Known, subject: string): Promise<Meant> {
  const subjects = [subject]
  for (const [table, id] of tables) {
    const { rows } = await sql<{ id: string }>`SELECT ${sql.ref(id)} AS id FROM ${sql.table(table)}
      WHERE ${isNamed(table, subject)} AND ${isKnown(table, known)}
      ORDER BY created_at DESC LIMIT ${sql.lit(maxNamesakes)}`.execute(db)
    subjects.push(...rows.map((row) => row.id))
    await giveTurn()
  }
  return { subjects, named: await namesOf(db, known, subject) }
}

/** A template is named with its tag or without. */
function isNamed(table: Table, name: string): RawBuilder<unknown> {
  return table === 'templates' ? sql`(name = ${name} OR name || ':' || tag = ${name})` : sql`name = ${name}`
}

/** The templates that Holt provides are everybody's, and an operator knows all projects. */
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
