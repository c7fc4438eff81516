import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { SqliteFile } from '../../src/foundation/store/sqlite-database.ts'
import { migrateSqlite } from '../../src/foundation/store/sqlite-store.ts'
import type { Tables } from '../../src/foundation/store/tables.ts'

/**
 * Returns SQLite's plans for the queries of a function, a line for each step. Every query returns
 * no rows.
 */
export async function plansOf(ask: (db: Kysely<Tables>) => Promise<unknown>): Promise<readonly string[]> {
  const asked: string[] = []
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (any) => new SqliteIntrospector(any),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    log: ({ query }) => void asked.push(query.sql),
  })
  await ask(db)
  const file = new SqliteFile(':memory:')
  migrateSqlite(file)
  const plans = asked.map((sql) => file.prepare(`EXPLAIN QUERY PLAN ${sql}`).all([]) as { detail: string }[])
  file.close()
  return plans.flat().map(({ detail }) => detail)
}
