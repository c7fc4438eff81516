import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { refuseNewer } from '../migrations/refuse-newer.ts'
import { SqliteFile } from '../sqlite-database.ts'
import { migrateSqlite } from '../sqlite-store.ts'
import type { DumpRow } from './dump-format.ts'
import { type HistoryTable, tablesOf } from './history-tables.ts'
import type { StoreReader, StoreWriter } from './transfer.ts'

/** Reads a file as it is at this moment. A daemon can continue to use it. */
export function readSqlite(path: string): StoreReader {
  if (!existsSync(path)) throw new Error(`there is no store at ${path}`)
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    database.exec('BEGIN')
    const row = database.prepare('SELECT max(version) AS version FROM migrations').get()
    const version = Number(row?.version)
    refuseNewer(version)
    return {
      version,
      rows: async function* ({ name, primaryKey }) {
        yield* database
          .prepare(`SELECT * FROM ${name} ORDER BY ${primaryKey.join(', ')}`)
          .iterate() as Iterable<DumpRow>
      },
      counter: async ({ name }) => {
        const last = database.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').get(name)
        return Number(last?.seq ?? 0)
      },
      close: async () => database.close(),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

/** Writes a new file next to its destination, and moves it there when it is complete. */
export function writeSqlite(path: string): StoreWriter {
  if (existsSync(path)) throw new Error(`there is already a store at ${path}: an import needs an empty one`)
  // SQLite would merge a leftover log of another store into the new one.
  const left = ['-wal', '-shm', '-journal'].map((suffix) => `${path}${suffix}`).filter((file) => existsSync(file))
  if (left.length > 0) throw new Error(`${left.join(' and ')} belongs to a store that was moved away: move it too`)
  const temporary = `${path}.import`
  let file: SqliteFile | null = null
  const opened = () => {
    if (file === null) throw new Error('the import has not started')
    return file
  }
  const discard = async () => {
    for (const suffix of ['', '-wal', '-shm']) await rm(`${temporary}${suffix}`, { force: true })
  }
  return {
    begin: async (schema) => {
      await discard()
      file = new SqliteFile(temporary)
      migrateSqlite(file, schema)
      const tables = tablesOf(schema)
      file.exec(
        `BEGIN IMMEDIATE; ${tables
          .toReversed()
          .map(({ name }) => `DELETE FROM ${name};`)
          .join(' ')}`,
      )
    },
    insert: async ({ name }, rows) => {
      for (const row of rows) {
        const columns = Object.keys(row)
        const places = columns.map(() => '?').join(', ')
        const quoted = columns.map((column) => `"${column}"`).join(', ')
        opened().prepare(`INSERT INTO ${name} (${quoted}) VALUES (${places})`).run(Object.values(row))
      }
    },
    setCounter: async ({ name }: HistoryTable, last) => {
      opened().prepare('DELETE FROM sqlite_sequence WHERE name = ?').run([name])
      opened().prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run([name, last])
    },
    finish: async () => {
      opened().exec('COMMIT')
      migrateSqlite(opened())
      opened().close()
      await using written = await open(temporary)
      await written.sync()
      await rename(temporary, path)
      await using directory = await open(dirname(path))
      await directory.sync()
    },
    abort: async () => {
      file?.close()
      await discard()
    },
  }
}
