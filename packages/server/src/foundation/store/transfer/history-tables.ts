import { migrations } from '../migrations/migrations.ts'

/** A table of the schema. */
export interface HistoryTable {
  readonly name: string
  /** The columns that identify and order its rows. */
  readonly primaryKey: readonly string[]
  /** The column that counts by itself; null if there is none. */
  readonly counter: string | null
}

interface Described extends HistoryTable {
  readonly needs: Set<string>
}

/**
 * Returns the tables of a schema version, each after the tables that it refers to. They are read
 * from the schema's history, which is the same for every database.
 */
export function tablesOf(version: number): readonly HistoryTable[] {
  const tables = new Map<string, Described>()
  for (const entry of migrations.slice(0, version)) {
    for (const [, name = '', body = ''] of entry.matchAll(/CREATE TABLE (\w+) \(\n([\s\S]*?)\n\)[^;]*;/g))
      tables.set(name, describe(name, body))
    for (const [, name = '', referred = ''] of entry.matchAll(/ALTER TABLE (\w+) ADD COLUMN [^;]*\bREFERENCES (\w+)/g))
      tables.get(name)?.needs.add(referred)
  }
  return inOrder(tables)
}

function describe(name: string, body: string): Described {
  const columns = body.split('\n').map((line) => line.trim())
  const counter = columns.flatMap((line) => /^(\w+) INTEGER PRIMARY KEY AUTOINCREMENT/.exec(line)?.[1] ?? [])[0] ?? null
  const single = columns.flatMap((line) => /^(\w+) [^,]*\bPRIMARY KEY\b/.exec(line)?.[1] ?? [])
  const several = /^\s*PRIMARY KEY \(([^)]*)\)/m.exec(body)?.[1]?.split(/,\s*/)
  const needs = new Set([...body.matchAll(/\bREFERENCES (\w+)/g)].map(([, referred = '']) => referred))
  return { name, primaryKey: several ?? single, counter, needs }
}

function inOrder(tables: ReadonlyMap<string, Described>): readonly HistoryTable[] {
  const ordered = new Set<Described>()
  const add = (table: Described, above: readonly string[]) => {
    if (above.includes(table.name)) throw new Error(`the tables ${above.join(', ')} refer to each other`)
    for (const name of table.needs) {
      const needed = tables.get(name)
      if (needed !== undefined && needed !== table && !ordered.has(needed)) add(needed, [...above, table.name])
    }
    ordered.add(table)
  }
  for (const table of tables.values()) if (!ordered.has(table)) add(table, [])
  return [...ordered].map(({ name, primaryKey, counter }) => ({ name, primaryKey, counter }))
}
