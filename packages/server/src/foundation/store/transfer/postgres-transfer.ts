import { migrations } from '../migrations/migrations.ts'
import { refuseNewer } from '../migrations/refuse-newer.ts'
import { takeDatabase } from '../postgres/lock.ts'
import { migrationScript, ownTables, schemaVersion } from '../postgres/schema.ts'
import { Session } from '../postgres/session.ts'
import type { DumpRow } from './dump-format.ts'
import { type HistoryTable, tablesOf } from './history-tables.ts'
import type { StoreReader, StoreWriter } from './transfer.ts'

/** The number of rows in one fetch. */
const pageRows = 500

/** Reads a database as it is at this moment. A daemon can continue to use it. */
export async function readPostgres(url: string): Promise<StoreReader> {
  const session = await Session.open(url, 'holtd export')
  session.limitStatements(null)
  try {
    await session.script('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const version = await schemaVersion(session)
    if (version === 0) throw new Error('there is no store in the database')
    refuseNewer(version)
    return {
      version,
      rows: (table) => rowsOf(session, table),
      counter: async (table) => {
        const { rows } = await session.script(`SELECT last_value, is_called FROM ${sequenceOf(table)}`)
        const { last_value: last, is_called: called } = rows[0] as { last_value: number; is_called: boolean }
        return called ? last : 0
      },
      close: () => session.close(),
    }
  } catch (error) {
    await session.close()
    throw error
  }
}

async function* rowsOf(session: Session, { name, primaryKey }: HistoryTable): AsyncGenerator<DumpRow> {
  await session.script(`DECLARE page NO SCROLL CURSOR FOR SELECT * FROM ${name} ORDER BY ${primaryKey.join(', ')}`)
  for (;;) {
    const { rows } = await session.script(`FETCH ${pageRows} FROM page`)
    if (rows.length === 0) break
    yield* rows as readonly DumpRow[]
  }
  await session.script('CLOSE page')
}

/** Writes into a database that has none of the store's tables, in one transaction. */
export async function writePostgres(url: string): Promise<StoreWriter> {
  const session = await Session.open(url, 'holtd import')
  session.limitStatements(null)
  try {
    if (!(await takeDatabase(session, 'import'))) throw new Error('another holtd uses this database')
    if ((await schemaVersion(session)) > 0)
      throw new Error('the database already has a store: an import needs an empty one')
  } catch (error) {
    await session.close()
    throw error
  }
  let imported = 0
  return {
    begin: async (schema) => {
      imported = schema
      await session.script(`BEGIN; ${ownTables}; ${migrationScript(0, schema)}`)
      for (const { name } of tablesOf(schema).toReversed()) await session.script(`DELETE FROM ${name}`)
    },
    insert: async ({ name }, rows) => {
      const columns = Object.keys(rows[0] ?? {})
      const values = rows.flatMap((row) => columns.map((column) => row[column] ?? null))
      const places = rows.map(
        (_, at) => `(${columns.map((_, index) => `$${at * columns.length + index + 1}`).join(', ')})`,
      )
      const quoted = columns.map((column) => `"${column}"`).join(', ')
      await session.query(`INSERT INTO ${name} (${quoted}) VALUES ${places.join(', ')}`, values)
    },
    setCounter: async (table, last) => {
      if (last > 0) await session.query(`SELECT setval('${sequenceOf(table)}', $1)`, [last])
      else await session.query(`SELECT setval('${sequenceOf(table)}', 1, false)`)
    },
    finish: async () => {
      const { command } = await session.script(`${migrationScript(imported, migrations.length)}; COMMIT`)
      if (command !== 'COMMIT') throw new Error('the database did not keep the import')
      await session.close()
    },
    abort: () => session.close(),
  }
}

/** Returns the sequence that PostgreSQL makes for an identity column. */
function sequenceOf({ name, counter }: HistoryTable): string {
  return `${name}_${counter}_seq`
}
