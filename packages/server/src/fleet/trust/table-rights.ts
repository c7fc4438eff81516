import type { Tables } from '../../foundation/store/tables.ts'

/** The rows of a table that a command may touch, and their columns. */
interface Reach<Name extends keyof Tables> {
  readonly columns: 'all' | readonly (keyof Tables[Name] & string)[]
  /** The condition for a row as it is, in SQL. For an insert, that for the new row. */
  readonly rows: string
  /** The condition for the row that an update leaves. Default: that of `rows`. */
  readonly into?: string
}

/** The rights of a worker in one table. A missing command is refused. */
export interface TableRights<Name extends keyof Tables> {
  readonly select?: Reach<Name>
  readonly insert?: Reach<Name>
  readonly update?: Reach<Name>
  readonly delete?: Pick<Reach<Name>, 'rows'>
}

/** The rights of a worker, by table. Each table has a decision. */
export type RightsByTable = { readonly [Name in keyof Tables]: TableRights<Name> }

/** A table of which a worker gets nothing. */
export const nothing = {}

/** Conditions of rows, in SQL. */
export const rows = {
  all: 'true',
  /** The rows of the worker that asks. */
  own: 'host_id = (SELECT holt_worker_host())',
  /** The rows of projects that the worker serves. */
  served: 'project_id IN (SELECT holt_worker_projects())',
  /** The rows of things in projects that it serves, which it has, too. */
  ownOrServed: 'host_id = (SELECT holt_worker_host()) OR project_id IN (SELECT holt_worker_projects())',
  /** The rows that belong to one of its runtimes. */
  ofOwnRuntime: 'runtime_id IN (SELECT own.runtime_id FROM runtimes AS own WHERE own.host_id = holt_worker_host())',
  /** The same, of tables that name the project, too. */
  ofOwnRuntimeAndProject: `(runtime_id, project_id) IN (
    SELECT own.runtime_id, own.project_id FROM runtimes AS own WHERE own.host_id = holt_worker_host())`,
  /** The rows that belong to one of its builds. */
  ofOwnBuild: 'build_id IN (SELECT own.build_id FROM builds AS own WHERE own.host_id = holt_worker_host())',
} as const

/** Returns the rights to read, write and remove some rows, with all of their columns. */
export function everything(condition: string) {
  const reach = { columns: 'all', rows: condition } as const
  return { select: reach, insert: reach, update: reach, delete: { rows: condition } }
}

/** Returns the rights to rows that the worker keeps for itself, in projects that it serves. */
export function keptOf({ own, served }: Pick<typeof rows, 'own' | 'served'>) {
  const written = `${own} AND ${served}`
  return {
    select: { columns: 'all', rows: own },
    insert: { columns: 'all', rows: written },
    update: { columns: 'all', rows: own, into: written },
    delete: { rows: own },
  } as const
}
