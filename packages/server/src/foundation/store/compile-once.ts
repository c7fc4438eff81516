import type { CompiledQuery } from 'kysely'
import type { Queries } from './open-store.ts'

type Value = string | number | null

/**
 * Returns a query that is built and compiled once for each database and number of values. Building
 * a small query takes twice as long as running it. `build` must use the values in the order of the
 * list. The query throws if it does not.
 */
export function compileOnce<Row>(
  build: (db: Queries, values: readonly Value[]) => { compile(): CompiledQuery<Row> },
): (db: Queries, values: readonly Value[]) => Promise<readonly Row[]> {
  const known = new WeakMap<Queries, Map<number, CompiledQuery<Row>>>()
  return async (db, values) => {
    const ofDatabase = known.get(db) ?? new Map<number, CompiledQuery<Row>>()
    known.set(db, ofDatabase)
    let query = ofDatabase.get(values.length)
    if (query === undefined) {
      query = build(db, values).compile()
      if (query.parameters.length !== values.length || query.parameters.some((value, index) => value !== values[index]))
        throw new Error(`the query uses its values in another order: ${query.sql}`)
      ofDatabase.set(values.length, query)
    }
    const { rows } = await db.executeQuery<Row>({ ...query, parameters: values })
    return rows
  }
}
